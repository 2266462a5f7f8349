from __future__ import annotations

from pathlib import Path

import pytest

from infra.cli.failures import ExitCode, Failure, FieldTrouble
from infra.cli.manifests import parse, placed, read_manifests

DROPLET = "kind: Droplet\nmetadata: {name: web}\n"


def test_documents_of_a_file_keep_their_order_and_empty_ones_are_left_out() -> None:
    found = parse(f"{DROPLET}---\n---\nkind: Zone\nmetadata: {{name: z}}\n", "a.yaml")

    assert [manifest.title for manifest in found] == ["Droplet web", "Zone z"]
    assert found[1].place == "a.yaml, document 3"


def test_a_folder_is_read_in_order_with_everything_below_it(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "two.yml").write_text(DROPLET)
    (tmp_path / "a.yaml").write_text(DROPLET)
    (tmp_path / "notes.txt").write_text("not this")

    found = read_manifests([str(tmp_path)])

    assert [Path(manifest.place).name for manifest in found] == ["a.yaml", "two.yml"]


@pytest.mark.parametrize(
    "raw", ["a: [", "- just\n- a list", "text", "!!python/object/apply:os.system [id]"]
)
def test_what_is_no_manifest_is_refused_by_name(raw: str) -> None:
    with pytest.raises(Failure, match=r"a\.yaml") as raised:
        parse(raw, "a.yaml")

    assert raised.value.code == ExitCode.USAGE


@pytest.mark.parametrize("name", ["/nowhere/at/all.yaml", "https://example.org/a.yaml"])
def test_what_cannot_be_read_is_said(name: str) -> None:
    with pytest.raises(Failure) as raised:
        read_manifests([name])

    assert name in raised.value.what


def test_an_error_is_named_by_file_and_object() -> None:
    manifests = parse(f"{DROPLET}---\n{DROPLET}", "a.yaml")
    failure = Failure(
        ExitCode.ERROR,
        "no",
        fields=(FieldTrouble("/manifests/1/spec/vcpus", "too many"), FieldTrouble("/x", "odd")),
    )

    fields = placed(failure, manifests, "/manifests").fields

    assert fields[0].pointer == "a.yaml, document 2 (Droplet web): /spec/vcpus"
    assert fields[1] == FieldTrouble("/x", "odd")
