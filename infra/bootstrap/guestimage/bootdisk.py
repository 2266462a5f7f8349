"""Makes a disk that a BIOS can boot: a FAT partition with syslinux, and room for others after it.

No root rights and no mounts: mtools and syslinux write into the image file. Bytes depend only on
what goes in, so a second build has the same digest.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.guestimage.commands import run

SECTOR = 512
MIB = 2**20
FIRST_SECTOR = 2048
"""Partitions start at 1 MiB, as every other program expects them to."""

BOOT_CODE_LENGTH = 440
PRIMARY_PARTITIONS = 4
"""What the first sector of a disk has room for."""

FAT16_LBA = 0x0E
LINUX = 0x83
DISK_SIGNATURE = 0x49465241
FAT_SERIAL = "49465241"


@dataclass(frozen=True)
class Partition:
    """A primary partition; start and length in sectors."""

    kind: int
    start: int
    sectors: int
    bootable: bool = False


@dataclass(frozen=True)
class BootTools:
    """Where unpacked mtools and syslinux lie, and the time stamp (in Unix seconds) they use."""

    root: Path
    mtime: int

    @property
    def env(self) -> dict[str, str]:
        search = f"{self.root / 'usr/bin'}:{os.environ.get('PATH', '/usr/bin:/bin')}"
        return {"PATH": search, "SOURCE_DATE_EPOCH": str(self.mtime), "MTOOLS_SKIP_CHECK": "1"}

    def tool(self, name: str) -> Path:
        return self.root / "usr/bin" / name

    @property
    def master_boot_code(self) -> bytes:
        return (self.root / "usr/lib/syslinux/mbr/mbr.bin").read_bytes()


def boot_sectors(content_bytes: int) -> int:
    """Return the length of a boot partition for that much content (pure).

    FAT16 wants more than 4085 clusters of 2 KiB; 4 MiB beside the content are for the tables and
    the loader. Rounded up to 8 MiB, so that a slightly larger kernel does not change the layout.
    """
    needed = max(content_bytes + 4 * MIB, 15 * MIB)
    return -(-needed // (8 * MIB)) * 8 * MIB // SECTOR


def partition_table(partitions: Sequence[Partition], boot_code: bytes) -> bytes:
    """Return the first sector of a disk: boot code, a fixed signature, the partitions (pure)."""
    if len(boot_code) > BOOT_CODE_LENGTH or len(partitions) > PRIMARY_PARTITIONS:
        raise ValueError(f"More than {BOOT_CODE_LENGTH} bytes of code or too many partitions.")
    rows = [
        # Cylinder, head and sector say "look at the block numbers", as is usual since long.
        struct.pack(
            "<B3sB3sII",
            0x80 if partition.bootable else 0,
            *(b"\xfe\xff\xff", partition.kind, b"\xfe\xff\xff"),
            *(partition.start, partition.sectors),
        )
        for partition in partitions
    ]
    head = boot_code.ljust(BOOT_CODE_LENGTH, b"\0") + struct.pack("<IH", DISK_SIGNATURE, 0)
    return head + b"".join(rows).ljust(64, b"\0") + b"\x55\xaa"


def loader_config(*, append: str, initrd: str = "initrd") -> str:
    """Return the syslinux configuration that boots one kernel at once (pure)."""
    return (
        "DEFAULT linux\nPROMPT 0\nTIMEOUT 0\nLABEL linux\n"
        f"  LINUX vmlinuz\n  INITRD {initrd}\n  APPEND {append}\n"
    )


def write_boot_partition(
    disk: Path, files: Mapping[str, Path], *, sectors: int, label: str, tools: BootTools
) -> None:
    """Format the disk's first partition, copy the files into it and make it bootable.

    The disk file must be long enough already.
    """
    image = f"{disk}@@{FIRST_SECTOR * SECTOR}"
    geometry = ("-h", "16", "-s", "63", "-T", str(sectors), "-H", str(FIRST_SECTOR), "-c", "4")
    run(
        *(tools.tool("mformat"), "-i", image, *geometry, "-N", FAT_SERIAL, "-v", label, "::"),
        env=tools.env,
    )
    run(
        *(tools.tool("syslinux"), "--install", "--offset", str(FIRST_SECTOR * SECTOR), disk),
        env=tools.env,
    )
    for name, source in files.items():
        os.utime(source, (tools.mtime, tools.mtime))
        run(tools.tool("mcopy"), "-m", "-i", image, source, f"::{name}", env=tools.env)


def write_first_sector(disk: Path, partitions: Sequence[Partition], tools: BootTools) -> None:
    """Write the partition table and the boot code."""
    with disk.open("r+b") as file:
        file.write(partition_table(partitions, tools.master_boot_code))
