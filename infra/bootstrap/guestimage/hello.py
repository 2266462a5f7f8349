"""The hello image: the smallest guest that is still a real one.

Debian's cloud kernel and busybox, booted from a disk by its own boot loader. It reads a NoCloud
seed for its name, keys and script, takes an address by DHCP, obeys the power button, and gives a
shell on its serial console.
"""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path

from infra.bootstrap.guestimage import cpio, initrd
from infra.bootstrap.guestimage.bootdisk import (
    FAT16_LBA,
    FIRST_SECTOR,
    SECTOR,
    BootTools,
    Partition,
    boot_sectors,
    loader_config,
    write_boot_partition,
    write_first_sector,
)
from infra.bootstrap.guestimage.commands import Say, finish
from infra.bootstrap.guestimage.image import BuiltImage
from infra.bootstrap.guestimage.packages import kernel_package, only, unpack

KERNEL = "linux-image-cloud-amd64"
PACKAGES = ("busybox-static", "syslinux", "syslinux-common", "mtools")

BUILD_TIME = 1_767_225_600
"""2026-01-01, the time of every file in the image: a build's own time would change its digest."""

APPEND = "console=ttyS0 quiet panic=5"

FAST = 1
"""The level of gzip: a smaller archive is not worth the build's time."""


def build_hello(
    out: Path, *, work_dir: Path | None = None, say: Say = lambda _line: None
) -> BuiltImage:
    """Write the image (qcow2) to `out` and return what it is.

    `work_dir` keeps fetched packages between builds. Raises BuildFailed with the reason.
    """
    if work_dir is None:
        with tempfile.TemporaryDirectory(prefix="infra-hello-") as folder:
            return build_hello(out, work_dir=Path(folder), say=say)
    work_dir.mkdir(parents=True, exist_ok=True)
    # A folder of its own, so that two builds may share the fetched packages.
    with tempfile.TemporaryDirectory(prefix="hello-", dir=work_dir) as folder:
        parts, packages = Path(folder), Path(folder) / "packages"
        names = (kernel_package(KERNEL), *PACKAGES)
        unpack(names, packages, archives=work_dir / "archives", say=say)
        say("Making the guest's file system and its boot disk")
        disk = _boot_disk(parts / "disk.raw", _boot_files(parts, packages), packages)
        return finish(disk, out)


def _boot_files(parts: Path, packages: Path) -> dict[str, Path]:
    archive = cpio.archive(initrd.entries(packages), mtime=BUILD_TIME)
    contents = {
        "vmlinuz": only(packages, "boot/vmlinuz-*").read_bytes(),
        "initrd": gzip.compress(archive, FAST, mtime=0),
        "syslinux.cfg": loader_config(append=APPEND).encode(),
    }
    for name, data in contents.items():
        (parts / name).write_bytes(data)
    return {name: parts / name for name in contents}


def _boot_disk(disk: Path, files: dict[str, Path], packages: Path) -> Path:
    tools = BootTools(packages, BUILD_TIME)
    sectors = boot_sectors(sum(file.stat().st_size for file in files.values()))
    with disk.open("wb") as file:
        file.truncate((FIRST_SECTOR + sectors) * SECTOR)
    write_boot_partition(disk, files, sectors=sectors, label="HELLO", tools=tools)
    boot = Partition(FAT16_LBA, FIRST_SECTOR, sectors, bootable=True)
    write_first_sector(disk, [boot], tools)
    return disk
