"""Places, ports and what is remembered of an installation."""

import socket
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from infra.bootstrap.example import MANIFEST, Seen, filled_in, parse_seen
from infra.bootstrap.installation import (
    Installation,
    child_environment,
    find_installation,
    settings_of,
)
from infra.bootstrap.places import (
    Places,
    check_data_dir,
    closed_ancestor,
    default_data_dir,
    ensure_places,
)
from infra.bootstrap.ports import Ports, check_ports, is_free
from infra.bootstrap.processes import agent, control_plane, enrol_command
from infra.bootstrap.record import Choices, read_choices, write_choices
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.systemprocesses import MARK


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return Installation(Places(tmp_path / "data"), Ports(18100))


def test_a_folder_others_cannot_pass_is_found(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    (closed / "inside").mkdir(parents=True)
    for folder in [closed / "inside", tmp_path]:
        folder.chmod(0o711)
    closed.chmod(0o700)
    found = closed_ancestor(closed / "inside" / "not-there-yet")
    assert found is not None
    assert found in {closed, *closed.parents}


def test_root_in_a_closed_checkout_gets_a_folder_elsewhere_and_others_stay(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert default_data_dir(tmp_path, is_root=True).parent == Path("/var/lib/infra")
    assert default_data_dir(tmp_path, is_root=False) == tmp_path / ".infra"


def test_two_closed_checkouts_get_two_folders(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    one, two = (default_data_dir(tmp_path / name, is_root=True) for name in ("one", "two"))
    assert one != two


def test_a_closed_data_folder_is_refused_with_its_name() -> None:
    # Closed, as all of these are, and with a path short enough for sockets.
    with (
        tempfile.TemporaryDirectory(prefix="infra-") as closed,
        pytest.raises(CannotContinue, match=f"chmod o.x {closed}"),
    ):
        check_data_dir(Path(closed) / "data", is_root=True)


def test_a_path_too_long_for_sockets_is_refused() -> None:
    with pytest.raises(CannotContinue, match="too long"):
        check_data_dir(Path("/") / ("x" * 90), is_root=False)


def test_secrets_of_the_run_lie_where_others_cannot_list(installation: Installation) -> None:
    ensure_places(installation.places)
    ensure_places(installation.places)
    assert installation.places.data.stat().st_mode & 0o777 == 0o711
    assert installation.places.log.stat().st_mode & 0o777 == 0o700


def test_a_taken_port_is_named_with_its_use() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not is_free(port)
        with pytest.raises(CannotContinue, match=rf"port {port} \(agents\)"):
            check_ports(Ports(port - 1))


def test_the_port_is_the_one_asked_for_else_told_else_used_before_else_the_default(
    tmp_path: Path,
) -> None:
    def port(asked: int | None, **environment: str) -> int:
        return find_installation(tmp_path, asked, environment).ports.web

    assert port(None) == 8000
    write_choices(Places(tmp_path), Choices(port=9100))
    assert port(None) == 9100
    assert port(None, INFRA_PORT="9200") == 9200
    assert port(9300, INFRA_PORT="9200") == 9300


def test_choices_that_cannot_be_read_are_no_choices(tmp_path: Path) -> None:
    places = Places(tmp_path)
    places.choices.write_text("{")
    assert read_choices(places) == Choices()


def test_private_servers_are_used_unless_urls_name_others(installation: Installation) -> None:
    private = settings_of(installation)
    assert private["INFRA_DATABASE_URL"].startswith("postgresql://infra@/infra?host=")
    assert private["INFRA_REDIS_URL"].startswith("unix:///")
    given = replace(installation, database_url="postgresql://db/x", redis_url="redis://r/1")
    assert settings_of(given)["INFRA_DATABASE_URL"] == "postgresql://db/x"
    assert settings_of(given)["INFRA_REDIS_URL"] == "redis://r/1"


def test_children_carry_the_mark_of_their_installation(installation: Installation) -> None:
    environment = child_environment(installation, {"PATH": "/bin", "INFRA_PORT": "1"})
    assert environment[MARK] == str(installation.places.data)
    assert environment["INFRA_PORT"] == "18100"
    assert environment["PATH"] == "/bin"


def test_the_control_plane_is_web_edge_two_workers_and_one_beat(
    installation: Installation,
) -> None:
    specs = control_plane(installation)
    assert [spec.name for spec in specs] == ["web", "edge", "worker-1", "worker-2", "beat"]
    assert len({spec.log for spec in specs}) == len(specs)


def test_the_agent_stops_before_the_control_plane(installation: Installation) -> None:
    last = max(spec.tier for spec in control_plane(installation))
    assert agent(installation, libvirt_uri="qemu:///session").tier > last


def test_enrolment_dials_its_own_port_and_trusts_only_the_installations_authority(
    installation: Installation,
) -> None:
    command = enrol_command(installation, "secret")
    assert "https://127.0.0.1:18102" in command
    assert str(installation.places.data / "ca" / "ca.pem") in command


def test_the_example_of_the_docs_is_filled_in_with_what_names_the_image() -> None:
    text = filled_in(MANIFEST.read_text(), {"sha256": '"abc"', "size_bytes": "7"})
    assert '  sha256: "abc"\n' in text
    assert "  size_bytes: 7\n" in text
    assert text.count("\n") == MANIFEST.read_text().count("\n")


def test_what_the_api_says_of_a_droplet_is_read_and_anything_else_is_nothing() -> None:
    assert parse_seen(b'{"state": "waiting", "why": "no room"}') == Seen("waiting", "no room")
    for body in (b"", b"<html>", b"[]", b"{}"):
        assert parse_seen(body) == Seen("", "")
