"""The installation's certificate authority, as files and certificates."""

from __future__ import annotations

import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID
from django.utils import timezone

from infra.authority import Authority, ensure_authority, load_authority
from infra.keys import check_public_key
from inventory.errors import Invalid
from inventory.identifiers import uuid7
from tests.agents.conftest import signing_request

NOW = timezone.now()


def server_certificate(authority: Authority) -> x509.Certificate:
    return x509.load_pem_x509_certificate(authority.server_files.certificate.read_bytes())


def test_a_root_is_made_once_and_kept(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ensure_authority(tmp_path, now=NOW).pem, range(8)))

    assert set(made) == {load_authority(tmp_path).pem}


def test_keys_are_readable_by_their_owner_only(authority: Authority) -> None:
    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode) for path in authority.folder.glob("*.key")
    }

    assert modes == {"ca.key": 0o600, "server.key": 0o600}
    assert stat.S_IMODE(authority.folder.stat().st_mode) == 0o700


def test_a_foreign_key_beside_the_root_is_noticed(authority: Authority, tmp_path: Path) -> None:
    other = ensure_authority(tmp_path / "other", now=NOW)
    (authority.folder / "ca.key").write_bytes((other.folder / "ca.key").read_bytes())

    with pytest.raises(ValueError, match="is not the key of"):
        load_authority(authority.folder)


def test_the_server_certificate_is_renewed_in_time_and_for_a_new_address(tmp_path: Path) -> None:
    authority = ensure_authority(tmp_path, now=NOW)
    assert authority.ensure_server_certificate("edge.example", now=NOW)
    assert not authority.ensure_server_certificate("edge.example", now=NOW + timedelta(days=59))
    assert authority.ensure_server_certificate("edge.example", now=NOW + timedelta(days=61))
    assert authority.ensure_server_certificate("192.0.2.7", now=NOW + timedelta(days=61))

    names = server_certificate(authority).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert [str(name) for name in names.value.get_values_for_type(x509.IPAddress)] == [
        "192.0.2.7",
        "127.0.0.1",
        "::1",
    ]
    assert names.value.get_values_for_type(x509.DNSName) == ["localhost"]


def test_a_node_certificate_is_for_clients_only_and_names_what_we_say(authority: Authority) -> None:
    node_id = uuid7()
    key = ec.generate_private_key(ec.SECP384R1())

    signed = authority.sign_node(node_id, signing_request(key), now=NOW)

    certificate = x509.load_pem_x509_certificate(signed.pem.encode())
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    constraints = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    assert list(usage) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    assert not constraints.ca
    assert certificate.subject.rfc4514_string() == f"CN={node_id}"
    assert signed.not_after - signed.not_before == timedelta(days=30, hours=1)
    assert authority.signed(certificate)


def test_what_another_root_signed_is_not_ours(authority: Authority, tmp_path: Path) -> None:
    other = ensure_authority(tmp_path / "other", now=NOW)
    other.ensure_server_certificate("127.0.0.1", now=NOW)

    assert not authority.signed(server_certificate(other))


@pytest.mark.parametrize(
    "key",
    [
        ec.generate_private_key(ec.SECP256K1()),
        ed25519.Ed25519PrivateKey.generate(),
        rsa.generate_private_key(public_exponent=65537, key_size=2048),
    ],
    ids=["odd curve", "no EC or RSA", "short RSA"],
)
def test_only_good_keys_are_signed(key: ec.EllipticCurvePrivateKey) -> None:
    with pytest.raises(Invalid):
        check_public_key(key.public_key())
