"""What a build gives back."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path


class BuildFailed(Exception):
    """The image could not be made; the text says what is missing or what went wrong."""


@dataclass(frozen=True)
class BuiltImage:
    """A finished image file; sizes in bytes, `virtual_size_bytes` as a guest sees the disk."""

    path: Path
    sha256: str
    size_bytes: int
    virtual_size_bytes: int
    format: str


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: Path, *, virtual_size_bytes: int, image_format: str) -> BuiltImage:
    """Return the description of a finished image file, read once to take its digest."""
    return BuiltImage(path, digest_of(path), path.stat().st_size, virtual_size_bytes, image_format)
