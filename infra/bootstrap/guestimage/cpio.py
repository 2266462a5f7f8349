"""Writes the cpio archive (format newc) that a kernel unpacks as its first file system (pure).

Written here because the programs that do it need root for device nodes and copy inode numbers
and times of this machine into the archive.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """One file of the archive. `mode` has the file type; `device` is (major, minor) of a node."""

    name: str
    mode: int
    data: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str, permissions: int = 0o755) -> Entry:
    """Return the entry of a folder."""
    return Entry(name, stat.S_IFDIR | permissions)


def file(name: str, data: bytes, permissions: int = 0o644) -> Entry:
    """Return the entry of an ordinary file."""
    return Entry(name, stat.S_IFREG | permissions, data)


def link(name: str, target: str) -> Entry:
    """Return the entry of a symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character_device(name: str, major: int, minor: int) -> Entry:
    """Return the entry of a device node that only root may use."""
    return Entry(name, stat.S_IFCHR | 0o600, b"", (major, minor))


def archive(entries: Iterable[Entry], *, mtime: int) -> bytes:
    """Return the archive: entries in the order given, all owned by root and of the same time."""
    parts = [_record(entry, inode, mtime) for inode, entry in enumerate(entries, start=1)]
    parts.append(_record(Entry("TRAILER!!!", 0), 0, 0))
    whole = b"".join(parts)
    return whole + bytes(-len(whole) % 512)


def _record(entry: Entry, inode: int, mtime: int) -> bytes:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (
        *(inode, entry.mode, 0, 0, links, mtime, len(entry.data), 0, 0),
        *(*entry.device, len(name), 0),
    )
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
    return head + bytes(-len(head) % 4) + entry.data + bytes(-len(entry.data) % 4)
