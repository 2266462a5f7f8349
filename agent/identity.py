"""Who this node is: its key, made here and never sent, and the certificate it speaks with.

Each identity is a folder of its own; a link names the one in use and is switched in one step, so
that a key is never paired with another key's certificate. The one before is kept, in case the
next was never taken note of by the installation.
"""

from __future__ import annotations

import os
import shutil
import ssl
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agent.protocol.values import InstallationIdentity, WireValue

CURRENT = "current"
PENDING_KEY = "pending.key"
RENEWED_AFTER = 2 / 3
"""Of a certificate's life. The last third is for control planes that are away when it is due."""

KEPT = 2


class NotEnrolled(Exception):
    """The state folder holds no identity."""


class BadIdentity(Exception):
    """A certificate that does not belong to the key it was asked for."""


class About(WireValue):
    """What was told at enrolment and stays true for all identities of the node."""

    node_id: UUID
    node_name: str
    installation: InstallationIdentity
    edge_url: str
    enrol_url: str
    address: str = ""


@dataclass(frozen=True)
class Identity:
    """One identity on disk. Times are seconds since 1970, as the certificate says them."""

    folder: Path
    about: About
    fingerprint: str
    not_before: float
    not_after: float

    @property
    def renew_at(self) -> float:
        return self.not_before + (self.not_after - self.not_before) * RENEWED_AFTER

    @property
    def certificate_pem(self) -> str:
        return (self.folder / "certificate.pem").read_text()

    def key(self) -> ec.EllipticCurvePrivateKey:
        return _load_key(self.folder / "key.pem")

    def context(self) -> ssl.SSLContext:
        """Return a context that shows this certificate and believes this installation only."""
        context = trusting((self.folder / "ca.pem").read_text())
        context.load_cert_chain(self.folder / "certificate.pem", self.folder / "key.pem")
        return context

    def anonymous_context(self) -> ssl.SSLContext:
        """Return a context that believes this installation and shows nothing."""
        return trusting((self.folder / "ca.pem").read_text())


def trusting(ca_pem: str) -> ssl.SSLContext:
    """Return a client context that believes exactly these authorities. Raises ssl.SSLError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_verify_locations(cadata=ca_pem)
    return context


def signing_request(key: ec.EllipticCurvePrivateKey, name: str) -> str:
    """Return the request for a certificate of this key; the installation chooses what it says."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    request = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = request.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


class IdentityStore:
    """The identities in a state folder."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "identity"

    def load(self) -> Identity:
        """Return the identity in use. Raises NotEnrolled."""
        link = self._folder / CURRENT
        try:
            folder = self._folder / link.readlink()
            about = About.model_validate_json((folder / "about.json").read_bytes())
            certificate = x509.load_pem_x509_certificate((folder / "certificate.pem").read_bytes())
        except FileNotFoundError as error:
            raise NotEnrolled(f"{self._folder} holds no identity.") from error
        return Identity(
            folder=folder,
            about=about,
            fingerprint=certificate.fingerprint(hashes.SHA256()).hex(),
            not_before=certificate.not_valid_before_utc.timestamp(),
            not_after=certificate.not_valid_after_utc.timestamp(),
        )

    def pending_key(self) -> ec.EllipticCurvePrivateKey:
        """Return the key to enrol or renew with: the same again until `save` has used it.

        An answer may be lost; asking again with the same key is answered again.
        """
        path = self._folder / PENDING_KEY
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write_private(path, _key_pem(ec.generate_private_key(ec.SECP256R1())))
        return _load_key(path)

    def save(self, about: About, *, certificate_pem: str, ca_pem: str) -> Identity:
        """Make the certificate of the pending key the identity in use. Raises BadIdentity."""
        key = self.pending_key()
        certificate = x509.load_pem_x509_certificate(certificate_pem.encode())
        if certificate.public_key() != key.public_key():
            raise BadIdentity("The certificate is not for the key that was asked for.")
        name = certificate.fingerprint(hashes.SHA256()).hex()[:16]
        folder = self._folder / name
        folder.mkdir(mode=0o700, exist_ok=True)
        _write_private(folder / "key.pem", _key_pem(key))
        _write_private(folder / "certificate.pem", certificate_pem)
        _write_private(folder / "ca.pem", ca_pem)
        _write_private(folder / "about.json", about.model_dump_json(indent=1))
        self._switch(name)
        (self._folder / PENDING_KEY).unlink()
        self._remove_old(name)
        return self.load()

    def redirect(self, *, edge_url: str, enrol_url: str) -> Identity:
        """Say where the control plane stands now, for the identity in use. Raises NotEnrolled."""
        identity = self.load()
        about = identity.about.model_copy(update={"edge_url": edge_url, "enrol_url": enrol_url})
        _write_private(identity.folder / "about.json", about.model_dump_json(indent=1))
        return self.load()

    def _switch(self, name: str) -> None:
        fresh = self._folder / ".current"
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(name)
        fresh.replace(self._folder / CURRENT)
        _sync_folder(self._folder)

    def _remove_old(self, name: str) -> None:
        others = [
            each for each in self._folder.iterdir() if each.is_dir() and not each.is_symlink()
        ]
        others.sort(key=lambda each: (each.name != name, -each.stat().st_mtime))
        for folder in others[KEPT:]:
            shutil.rmtree(folder)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()


def _load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    key = serialization.load_pem_private_key(path.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise BadIdentity(f"{path} holds no EC key.")
    return key


def _write_private(path: Path, text: str) -> None:
    """Write a file that only its owner reads, whole or not at all, and on disk afterwards."""
    fresh = path.with_name(f".{path.name}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(fresh, flags, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
