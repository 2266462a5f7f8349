"""The declared document of an SSH key. Pure."""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct

from pydantic import Field, field_validator

from inventory.specs.base import Spec, Text

KEY_TYPES = frozenset(
    {
        "ssh-ed25519",
        "ssh-rsa",
        "ecdsa-sha2-nistp256",
        "ecdsa-sha2-nistp384",
        "ecdsa-sha2-nistp521",
        "sk-ssh-ed25519@openssh.com",
        "sk-ecdsa-sha2-nistp256@openssh.com",
    }
)
"""Public key types of OpenSSH, without DSA."""


class SshKeySpec(Spec):
    """One public key in OpenSSH's one-line form."""

    public_key: Text = Field(max_length=16384)

    @field_validator("public_key")
    @classmethod
    def _is_openssh(cls, public_key: str) -> str:
        line = public_key.strip()
        key_blob(line)
        return line

    @property
    def fingerprint(self) -> str:
        """Return OpenSSH's SHA-256 fingerprint."""
        digest = hashlib.sha256(key_blob(self.public_key)).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


def key_blob(line: str) -> bytes:
    """Return the binary key of a one-line public key (RFC 4253, 6.6). Raises ValueError."""
    if any(ord(character) < 32 for character in line):  # noqa: PLR2004  control characters
        raise ValueError("a public key is a single line")
    parts = line.split(None, 2)
    if len(parts) < 2:  # noqa: PLR2004  type and key
        raise ValueError("a public key reads: type, key in base64, comment")
    if parts[0] not in KEY_TYPES:
        raise ValueError(f"unknown key type; known are {', '.join(sorted(KEY_TYPES))}")
    try:
        blob = base64.b64decode(parts[1], validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("the key is not base64") from None
    if len(blob) < 4 or blob[4 : 4 + struct.unpack(">I", blob[:4])[0]] != parts[0].encode():  # noqa: PLR2004
        raise ValueError("the key does not match its type")
    return blob
