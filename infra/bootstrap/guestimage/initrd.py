"""The first and only file system of the hello guest, as cpio entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from infra.bootstrap.guestimage import cpio
from infra.bootstrap.guestimage.commands import run
from infra.bootstrap.guestimage.kernelmodules import in_loading_order, unpacked
from infra.bootstrap.guestimage.packages import only

GUEST_FILES = Path(__file__).parent / "guest"
"""What is written for the guest itself; everything else comes from Debian's packages."""

EARLY_MODULES = ("virtio_pci", "virtio_blk", "button", "evdev")
"""Before HELLO: what finds the seed, and what hears the power button."""

SEED_MODULES = ("isofs", "vfat", "nls_cp437", "nls_ascii")
"""Only when there is a seed to read."""

LATE_MODULES = ("virtio_net", "virtio_console", "virtio_rng", "virtio_balloon")
"""After HELLO: loading takes time under emulation."""

FOLDERS = (
    *("bin", "sbin", "dev", "etc", "modules", "proc", "root"),
    *("root/.ssh", "run", "seed", "sys", "tmp", "usr", "usr/bin", "usr/sbin", "var", "var/run"),
)

PLACES = {
    "init": ("init", 0o755),
    "late": ("etc/late", 0o755),
    "udhcpc": ("etc/udhcpc", 0o755),
    "power": ("etc/power", 0o755),
    "inittab": ("etc/inittab", 0o644),
    "profile": ("etc/profile", 0o644),
}
"""Where each of our own files goes, and its permissions."""

TEXTS = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\n",
    "etc/group": "root:x:0:\n",
    "etc/hosts": "127.0.0.1 localhost\n",
}


def entries(packages: Path) -> Iterator[cpio.Entry]:
    """Yield the file system, made from the files of unpacked Debian packages."""
    yield from (cpio.folder(name, _permissions(name)) for name in FOLDERS)
    yield cpio.character_device("dev/console", 5, 1)
    yield cpio.character_device("dev/null", 1, 3)
    yield from _busybox(only(packages, "bin/busybox", "usr/bin/busybox"))
    yield from _modules(packages)
    for name, (place, permissions) in PLACES.items():
        yield cpio.file(place, (GUEST_FILES / name).read_bytes(), permissions)
    for place, text in TEXTS.items():
        yield cpio.file(place, text.encode())


def _permissions(name: str) -> int:
    return {"root/.ssh": 0o700, "root": 0o700, "tmp": 0o1777}.get(name, 0o755)


def _busybox(program: Path) -> Iterator[cpio.Entry]:
    """Links are made here and not by the guest: 400 of them cost it a second under emulation."""
    yield cpio.file("bin/busybox", program.read_bytes(), 0o755)
    for place in sorted(run(program, "--list-full").split()):
        if place != "bin/busybox" and PurePosixPath(place).parent.as_posix() in FOLDERS:
            yield cpio.link(place, "/bin/busybox")


def _modules(packages: Path) -> Iterator[cpio.Entry]:
    folder = only(packages, "lib/modules/*", "usr/lib/modules/*")
    found = {
        path.name.partition(".")[0].replace("-", "_"): path
        for path in sorted(folder.rglob("*.ko*"))
    }

    def load(name: str) -> bytes | None:
        return unpacked(found[name].read_bytes()) if name in found else None

    done: set[str] = set()
    for listing, wanted in (
        ("etc/modules", EARLY_MODULES),
        ("etc/modules.seed", SEED_MODULES),
        ("etc/modules.late", LATE_MODULES),
    ):
        ordered = in_loading_order(wanted, load)
        fresh = [name for name in ordered if name not in done]
        done.update(fresh)
        yield from (cpio.file(f"modules/{name}.ko", ordered[name]) for name in fresh)
        yield cpio.file(listing, "".join(f"{name}\n" for name in fresh).encode())
