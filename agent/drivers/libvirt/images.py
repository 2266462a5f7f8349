"""Images in a node's cache, named by their content. What is in the cache has been checked."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agent.drivers.base import ImageStream, Rejected
from agent.protocol.declarations import ImageFormat, ImageReference

ROOM_LEFT_BYTES = 256 * 2**20
"""An image that would leave the file system with less than this is not fetched."""

READABLE = 0o644
"""The emulator runs as a user of its own and only reads images."""

QCOW2_MAGIC = b"QFI\xfb"
HEADER_BYTES = 112
_FETCHING = ".fetching-"
_EXTERNAL_DATA_FILE = 1 << 2
_FOREIGN_MAGICS = {
    QCOW2_MAGIC: "qcow2",
    b"QED\0": "qed",
    b"KDMV": "vmdk",
    b"COWD": "vmdk",
    b"# Disk DescriptorFile": "vmdk",
    b"<<< ": "vdi",
    b"vhdxfile": "vhdx",
    b"conectix": "vpc",
    b"WithoutFreeSpace": "parallels",
    b"WithouFreSpacExt": "parallels",
}


@dataclass(frozen=True)
class Qcow2Header:
    """What the first bytes of a qcow2 file say; `virtual_bytes` is the size of the disk in it."""

    version: int
    virtual_bytes: int
    has_backing_file: bool
    has_data_file: bool
    is_encrypted: bool


class ImageCache:
    """A folder of images, each `<sha256>`; only whole and checked ones have that name."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, sha256: str) -> Path:
        return self._folder / sha256

    def has(self, image: ImageReference) -> bool:
        """Return whether the image is there in full. Raises `OSError` if that cannot be read."""
        try:
            return self.path(image.sha256).stat().st_size == image.size_bytes
        except FileNotFoundError:
            return False

    def fetch(self, image: ImageReference, stream: ImageStream) -> None:
        """Bring the image in. Raises `Rejected` if it is not what was declared, or for no room.

        What the stream raises goes through; nothing of a broken transfer is left.
        """
        if self.has(image):
            return
        check_room(self._folder, image.size_bytes)
        fresh = self._folder / f"{_FETCHING}{image.sha256}"
        try:
            with stream(image) as chunks:
                _receive(image, chunks, fresh)
            check_format(fresh, image.format)
            fresh.chmod(READABLE)
            fresh.replace(self.path(image.sha256))
            sync_folder(self._folder)
        finally:
            fresh.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove what fetches that were cut off have left; one agent has this folder."""
        for path in self._folder.glob(f"{_FETCHING}*"):
            path.unlink(missing_ok=True)


def check_room(folder: Path, wanted_bytes: int) -> None:
    """Raise `Rejected` if this many bytes would not leave room enough."""
    free = shutil.disk_usage(folder).free
    if free < wanted_bytes + ROOM_LEFT_BYTES:
        raise Rejected(
            "disk.no_room",
            f"{wanted_bytes / 2**20:.0f} MiB are needed and {ROOM_LEFT_BYTES / 2**20:.0f} MiB are "
            f"to be left, but only {free / 2**20:.0f} MiB are free on the node.",
        )


def check_format(path: Path, declared: ImageFormat) -> None:
    """Raise `Rejected` if the file is not of the declared format or would read other files."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES)
    found = next((name for magic, name in _FOREIGN_MAGICS.items() if head.startswith(magic)), "raw")
    if found != declared.value:
        raise Rejected("image.format", f"The image is declared {declared} but is {found}.")
    if declared is ImageFormat.QCOW2:
        header = read_qcow2_header(head)
        if header.has_backing_file or header.has_data_file:
            raise Rejected("image.refers", "The image refers to another file.")
        if header.is_encrypted:
            raise Rejected("image.encrypted", "The image is encrypted; no guest could read it.")


def read_qcow2_header(head: bytes) -> Qcow2Header:
    """Return what the header says. Raises `Rejected` for what is not a qcow2 header we know."""
    if len(head) < 72 or not head.startswith(QCOW2_MAGIC):  # noqa: PLR2004  the shortest header
        raise Rejected("image.format", "The file is not qcow2.")
    version = int.from_bytes(head[4:8], "big")
    features = int.from_bytes(head[72:80], "big") if version >= 3 else 0  # noqa: PLR2004
    if version not in {2, 3}:
        raise Rejected("image.format", f"qcow2 of version {version} is not known here.")
    return Qcow2Header(
        version=version,
        virtual_bytes=int.from_bytes(head[24:32], "big"),
        has_backing_file=head[8:16] != bytes(8),
        has_data_file=bool(features & _EXTERNAL_DATA_FILE),
        is_encrypted=head[32:36] != bytes(4),
    )


def virtual_bytes(path: Path, image_format: ImageFormat) -> int:
    """Return the size of the disk that this file is, in bytes."""
    if image_format is ImageFormat.RAW:
        return path.stat().st_size
    with path.open("rb") as file:
        return read_qcow2_header(file.read(HEADER_BYTES)).virtual_bytes


def sync_folder(folder: Path) -> None:
    """Make the names in this folder outlive a power cut."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _receive(image: ImageReference, chunks: Iterator[bytes], path: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with path.open("wb") as file:
        for chunk in chunks:
            size += len(chunk)
            if size > image.size_bytes:
                raise Rejected("image.size", f"The image is larger than {image.size_bytes} bytes.")
            digest.update(chunk)
            _write(file.fileno(), chunk)
        os.fsync(file.fileno())
    if size != image.size_bytes:
        raise Rejected("image.size", f"The image has {size} bytes, not {image.size_bytes}.")
    if digest.hexdigest() != image.sha256:
        raise Rejected("image.checksum", f"The image has the digest {digest.hexdigest()}.")


def _write(descriptor: int, chunk: bytes) -> None:
    """Write all of the chunk. Raises `Rejected` when the disk is full."""
    view = memoryview(chunk)
    try:
        while view:
            view = view[os.write(descriptor, view) :]
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT}:
            raise Rejected("disk.no_room", "The node's disk filled up.") from error
        raise
