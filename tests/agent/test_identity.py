"""Keys and certificates on disk, and the commands that make them."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from django.utils import timezone

from agent.identity import (
    About,
    BadIdentity,
    Identity,
    IdentityStore,
    NotEnrolled,
    signing_request,
)
from infra.authority import Authority, ensure_authority
from inventory.identifiers import uuid7
from tests.agent.site import CHECKOUT, Site
from tests.agent.site import site as site  # noqa: PLC0414  a fixture
from tests.agent.working import HOME
from tests.agents.conftest import edge, installation, new_token, node  # noqa: F401  fixtures

ABOUT = About(
    node_id=uuid7(),
    node_name="n1",
    installation=HOME,
    edge_url="https://127.0.0.1:1",
    enrol_url="https://127.0.0.1:2",
)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = ensure_authority(tmp_path / "ca", now=timezone.now())
    made.ensure_server_certificate("127.0.0.1", now=timezone.now())
    return made


def save(store: IdentityStore, authority: Authority) -> Identity:
    request = signing_request(store.pending_key(), "n1")
    signed = authority.sign_node(ABOUT.node_id, request, now=timezone.now())
    return store.save(ABOUT, certificate_pem=signed.pem, ca_pem=authority.pem)


def test_a_folder_without_identity_says_so(tmp_path: Path) -> None:
    with pytest.raises(NotEnrolled):
        IdentityStore(tmp_path).load()


def test_a_key_is_kept_until_its_certificate_came(tmp_path: Path, authority: Authority) -> None:
    store = IdentityStore(tmp_path)
    asked = store.pending_key().public_key()

    assert IdentityStore(tmp_path).pending_key().public_key() == asked
    saved = save(store, authority)
    assert saved.key().public_key() == asked
    assert store.pending_key().public_key() != asked


def test_the_next_identity_takes_over_and_the_last_one_is_kept(
    tmp_path: Path, authority: Authority
) -> None:
    store = IdentityStore(tmp_path)
    made = [save(store, authority) for _ in range(4)]

    assert store.load() == made[-1]
    folders = {each for each in (tmp_path / "identity").iterdir() if not each.is_symlink()}
    assert made[-1].folder in folders
    assert len([each for each in folders if each.is_dir()]) == 2
    for path in made[-1].folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0


def test_a_certificate_for_another_key_is_not_taken(tmp_path: Path, authority: Authority) -> None:
    store, other = IdentityStore(tmp_path / "a"), IdentityStore(tmp_path / "b")
    first = save(store, authority)
    foreign = authority.sign_node(
        ABOUT.node_id, signing_request(other.pending_key(), "n1"), now=timezone.now()
    )

    with pytest.raises(BadIdentity):
        store.save(ABOUT, certificate_pem=foreign.pem, ca_pem=authority.pem)

    assert store.load() == first


def test_a_certificate_is_renewed_when_a_third_of_its_life_is_left(
    tmp_path: Path, authority: Authority
) -> None:
    saved = save(IdentityStore(tmp_path), authority)
    certificate = x509.load_pem_x509_certificate(saved.certificate_pem.encode())
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc

    assert saved.not_after - saved.renew_at == pytest.approx((life / 3).total_seconds(), abs=1)
    assert timedelta(seconds=saved.not_after - saved.renew_at) > timedelta(days=9)


def program(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "agent.main", *words],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_command_enrols_and_tells_what_the_node_is(site: Site, tmp_path: Path) -> None:
    state, ca = str(tmp_path / "state"), tmp_path / "ca" / "ca.pem"
    words = ["enrol", "--state-dir", state, "--url", site.edge.enrol_url, "--ca", str(ca)]

    refused = program(*words, "--token", "infra_node_" + "x" * 20)
    enrolled = program(*words, "--token", new_token(site.node))
    told = program("status", "--state-dir", state)

    assert refused.returncode == 1
    assert "token.unknown" in refused.stderr
    assert (enrolled.returncode, enrolled.stdout.split()[:4]) == (
        0,
        ["Enrolled", "as", "node", "n1"],
    )
    assert f"node          n1 ({site.node.pk})" in told.stdout
    assert IdentityStore(Path(state)).load().about.address == "127.0.0.1"


def test_the_command_says_what_is_missing(tmp_path: Path) -> None:
    nothing = program("run", "--state-dir", str(tmp_path / "none"), "--driver", "fake")
    unmet = program("run", "--state-dir", str(tmp_path), "--driver", "fake")

    assert (nothing.returncode, unmet.returncode) == (1, 1)
    assert "enrol this machine first" in nothing.stderr
    assert "no identity" in unmet.stderr


def test_a_node_is_told_where_its_control_plane_has_moved(tmp_path, authority):
    store = IdentityStore(tmp_path / "node")
    before = save(store, authority)
    after = store.redirect(edge_url="https://127.0.0.1:3", enrol_url="https://127.0.0.1:4")
    assert (after.about.edge_url, after.about.enrol_url) == (
        "https://127.0.0.1:3",
        "https://127.0.0.1:4",
    )
    assert after.fingerprint == before.fingerprint


def test_a_machine_that_is_no_node_cannot_be_redirected(tmp_path):
    with pytest.raises(NotEnrolled):
        IdentityStore(tmp_path).redirect(edge_url="https://x:1", enrol_url="https://x:2")
