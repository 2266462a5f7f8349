"""The installation's certificate authority: a root of its own, the edge's certificate, the nodes'.

Keys of nodes are made on the nodes and never come here. What is kept are files in one folder:
`ca.key`, `ca.pem`, `server.key`, `server.pem`; the keys are readable by their owner only.
"""

from __future__ import annotations

import fcntl
import ipaddress
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from uuid import UUID

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from infra.keys import (
    KEY_USAGE_CA,
    KEY_USAGE_END,
    PublicKey,
    check_public_key,
    key_digest,
    read_signing_request,
)
from operations.enrolment import SignedCertificate

ROOT_LIFE = timedelta(days=365 * 20)
SERVER_LIFE = timedelta(days=90)
NODE_LIFE = timedelta(days=30)
BACK_DATED = timedelta(hours=1)
"""A node whose clock is behind must still find its new certificate valid."""

SERVER_RENEWED_BEFORE_END = timedelta(days=30)
ROOT_NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Infra installation root")])


@dataclass(frozen=True)
class Authority:
    """The root, loaded. Signs for as long as the value is held; nothing is read again."""

    folder: Path
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self) -> str:
        return _pem(self.certificate)

    def key_digest(self, csr_pem: str) -> str:
        """Return the digest of the key a signing request is for. Raises Invalid."""
        request = read_signing_request(csr_pem)
        return key_digest(check_public_key(request.public_key()))

    def sign_node(self, node_id: UUID, csr_pem: str, *, now: datetime) -> SignedCertificate:
        """Return a client certificate that names the node, whatever the request asks to be called.

        Raises Invalid when the request is not one, or its key is too weak.
        """
        public_key = check_public_key(read_signing_request(csr_pem).public_key())
        certificate = self._sign(
            public_key,
            name=str(node_id),
            alternatives=[x509.UniformResourceIdentifier(f"urn:infra:node:{node_id}")],
            usage=ExtendedKeyUsageOID.CLIENT_AUTH,
            now=now,
            life=NODE_LIFE,
        )
        return SignedCertificate(
            pem=_pem(certificate),
            fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
            serial=f"{certificate.serial_number:x}",
            key_digest=key_digest(public_key),
            not_before=certificate.not_valid_before_utc,
            not_after=certificate.not_valid_after_utc,
        )

    def signed(self, certificate: x509.Certificate) -> bool:
        """Return whether this root signed the certificate; its dates do not matter here."""
        try:
            certificate.verify_directly_issued_by(self.certificate)
        except (ValueError, TypeError, InvalidSignature):
            return False
        return True

    def _sign(
        self,
        public_key: PublicKey,
        *,
        name: str,
        alternatives: Sequence[x509.GeneralName],
        usage: x509.ObjectIdentifier,
        now: datetime,
        life: timedelta,
    ) -> x509.Certificate:
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(self.certificate.subject)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - BACK_DATED)
            .not_valid_after(now + life)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(KEY_USAGE_END, critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()),
                critical=False,
            )
        )
        return builder.sign(self.key, hashes.SHA256())

    @property
    def server_files(self) -> ServerFiles:
        return ServerFiles(self.folder / "server.pem", self.folder / "server.key")

    def ensure_server_certificate(self, address: str, *, now: datetime) -> bool:
        """Make the edge's certificate, or the next one; return whether it was made now.

        It stands for `address` and for this machine, and is renewed 30 days before its end and
        whenever the address has changed.
        """
        with _locked(self.folder):
            if self._server_certificate_serves(address, now=now):
                return False
            key = ec.generate_private_key(ec.SECP256R1())
            certificate = self._sign(
                key.public_key(),
                name=address,
                alternatives=server_names(address),
                usage=ExtendedKeyUsageOID.SERVER_AUTH,
                now=now,
                life=SERVER_LIFE,
            )
            # One file holds both, so that no reader ever pairs a key with another certificate.
            _write(self.server_files.key, _key_pem(key) + _pem(certificate), mode=0o600)
            _write(self.server_files.certificate, _pem(certificate), mode=0o644)
        return True

    def _server_certificate_serves(self, address: str, *, now: datetime) -> bool:
        path = self.server_files.certificate
        if not path.exists() or not self.server_files.key.exists():
            return False
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return (
            self.signed(certificate)
            and now < certificate.not_valid_after_utc - SERVER_RENEWED_BEFORE_END
            and set(names) == set(server_names(address))
        )


@dataclass(frozen=True)
class ServerFiles:
    """Where the edge's certificate lies; `key` holds the key and the certificate together."""

    certificate: Path
    key: Path


def server_names(address: str) -> list[x509.GeneralName]:
    """Return what the edge may be dialled as: the address, and this machine by its own names."""
    names: list[x509.GeneralName] = []
    for name in dict.fromkeys([address, "localhost", "127.0.0.1", "::1"]):
        try:
            names.append(x509.IPAddress(ipaddress.ip_address(name)))
        except ValueError:
            names.append(x509.DNSName(name))
    return names


def ensure_authority(folder: Path, *, now: datetime) -> Authority:
    """Return the authority kept in the folder, made first if there is none.

    Safe when several processes start at once: one makes it, the others read it.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with _locked(folder):
        if not (folder / "ca.pem").exists():
            _make_root(folder, now=now)
    return load_authority(folder)


def load_authority(folder: Path) -> Authority:
    """Return the authority kept in the folder. Raises FileNotFoundError, ValueError."""
    certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
    key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"{folder / 'ca.key'} holds no EC key.")  # noqa: TRY004  a wrong file
    if key.public_key() != certificate.public_key():
        raise ValueError(f"{folder / 'ca.key'} is not the key of {folder / 'ca.pem'}.")
    return Authority(folder, certificate, key)


def _make_root(folder: Path, *, now: datetime) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    certificate = (
        x509.CertificateBuilder()
        .subject_name(ROOT_NAME)
        .issuer_name(ROOT_NAME)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACK_DATED)
        .not_valid_after(now + ROOT_LIFE)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(KEY_USAGE_CA, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier),
            critical=False,
        )
        .sign(key, hashes.SHA256())
    )
    # The certificate is written last: where it stands, the key stands too.
    _write(folder / "ca.key", _key_pem(key), mode=0o600)
    _write(folder / "ca.pem", _pem(certificate), mode=0o644)


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _write(path: Path, text: str, *, mode: int) -> None:
    """Replace a file whole, with its mode from the first byte on, and durably."""
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
