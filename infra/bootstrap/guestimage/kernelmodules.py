"""Picks kernel modules and puts them into the order they must be loaded in (pure)."""

from __future__ import annotations

import lzma
from collections.abc import Callable, Iterable

from infra.bootstrap.guestimage.image import BuildFailed

XZ_MAGIC = b"\xfd7zXZ\0"

Load = Callable[[str], bytes | None]
"""Gives the bytes of a module by name; None when the kernel has it built in or not at all."""


def canonical(name: str) -> str:
    """Return the name with the one spelling that dependencies use: `virtio-rng` is `virtio_rng`."""
    return name.replace("-", "_")


def unpacked(data: bytes) -> bytes:
    """Return the module's ELF bytes; newer Debian kernels keep modules compressed by xz."""
    return lzma.decompress(data) if data.startswith(XZ_MAGIC) else data


def dependencies(module: bytes) -> tuple[str, ...]:
    """Return the names a module's own `depends=` record lists."""
    _, found, rest = module.partition(b"\0depends=")
    if not found and module.startswith(b"depends="):
        rest = module.removeprefix(b"depends=")
    names = rest.partition(b"\0")[0].decode("ascii")
    return tuple(canonical(name) for name in names.split(",") if name)


def in_loading_order(wanted: Iterable[str], load: Load) -> dict[str, bytes]:
    """Return the wanted modules and all they need, each after what it depends on.

    A wanted name the kernel does not offer as a module is left out: it is built in. Raises
    BuildFailed when a dependency that a module names itself is missing.
    """
    ordered: dict[str, bytes] = {}

    def add(name: str, needed_by: str | None) -> None:
        if name in ordered:
            return
        data = load(name)
        if data is None:
            if needed_by is not None:
                raise BuildFailed(f"The kernel module {needed_by} needs {name}, which is missing.")
            return
        for dependency in dependencies(data):
            add(dependency, name)
        ordered[name] = data

    for name in wanted:
        add(canonical(name), None)
    return ordered
