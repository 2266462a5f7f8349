"""The Debian image: a full system with cloud-init, made by mmdebstrap.

Not for the first minute of a new installation: it takes a minute to build and as long to boot
under emulation.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tarfile
import tempfile
from pathlib import Path

from infra.bootstrap.guestimage.bootdisk import (
    FAT16_LBA,
    FIRST_SECTOR,
    LINUX,
    MIB,
    SECTOR,
    BootTools,
    Partition,
    boot_sectors,
    loader_config,
    write_boot_partition,
    write_first_sector,
)
from infra.bootstrap.guestimage.commands import Say, finish, run
from infra.bootstrap.guestimage.image import BuildFailed, BuiltImage
from infra.bootstrap.guestimage.packages import unpack

SUITE = "bookworm"
BUILD_TIME = 1_767_225_600

PACKAGES = (
    *("systemd-sysv", "systemd-resolved", "dbus", "udev", "kmod", "iproute2", "netplan.io"),
    *("cloud-init", "cloud-guest-utils", "e2fsprogs", "qemu-guest-agent", "openssh-server"),
    *("linux-image-cloud-amd64", "ca-certificates", "sudo"),
)
"""Resolved and netplan as in Debian's own cloud images; cloud-guest-utils grows the disk."""

BOOT_PACKAGES = ("syslinux", "syslinux-common", "mtools")

TOOLS = {"mmdebstrap": "mmdebstrap", "mke2fs": "e2fsprogs", "qemu-img": "qemu-utils"}
USER_TOOLS = {"newuidmap": "uidmap", "fakeroot": "fakeroot"}
"""Programs and the packages they come from; the second only for a builder who is not root."""

APPEND = "root=LABEL=root ro console=tty0 console=ttyS0 quiet"

ROOT_UUID = "49465241-0000-4000-8000-000000000001"
ROOT_MIB = 1900
"""The image stays below 2 GiB; the guest grows its root to the disk it was given."""

FILES = {
    "etc/fstab": "LABEL=root / ext4 defaults,noatime 0 1\n",
    "etc/hostname": "debian\n",
    # A disk with a seed, or nothing: asking the networks of all clouds costs two minutes.
    "etc/cloud/cloud.cfg.d/90_infra.cfg": "datasource_list: [ NoCloud, None ]\nlocale: C.UTF-8\n",
}
"""What is written over the packages' own files, relative to the root of the image."""

KERNEL_FILES = {"./boot/vmlinuz": "vmlinuz", "./boot/initrd.img": "initrd"}
"""How the archive names (up to the version) what the boot loader needs, and our names for it."""

LEFT_OUT = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*")


def build_debian(
    out: Path,
    *,
    work_dir: Path | None = None,
    suite: str = SUITE,
    mirror: str | None = None,
    say: Say = lambda _line: None,
) -> BuiltImage:
    """Write the image (qcow2) to `out` and return what it is.

    `mirror` is a Debian mirror's address; None means mmdebstrap's own choice. Raises BuildFailed.
    """
    if work_dir is None:
        with tempfile.TemporaryDirectory(prefix="infra-debian-") as folder:
            return build_debian(out, work_dir=Path(folder), suite=suite, mirror=mirror, say=say)
    check_tools(as_root=os.geteuid() == 0)
    work_dir.mkdir(parents=True, exist_ok=True)
    # A folder of its own: the tree in it has owners and modes that must not be built upon.
    with tempfile.TemporaryDirectory(prefix="debian-", dir=work_dir) as folder:
        parts, packages = Path(folder), Path(folder) / "packages"
        unpack(BOOT_PACKAGES, packages, archives=work_dir / "archives", say=say)
        say(f"Installing {len(PACKAGES)} packages of {suite} and what they need")
        archive = _install(parts, suite, mirror)
        say("Making the bootable disk")
        disk = _make_disk(parts, archive, BootTools(packages, BUILD_TIME))
        say("Compressing the image")
        return finish(disk, out, options=("-c", "-o", "compression_type=zstd"))


def check_tools(*, as_root: bool, search: str | None = None) -> None:
    """Raise BuildFailed that names the packages to install, if a program is missing.

    `search` is the path to look along; None means this process's own, and the folders of root.
    """
    path = search if search is not None else _search_path()
    needed = {**TOOLS, **({} if as_root else USER_TOOLS)}
    missing = sorted(
        package for tool, package in needed.items() if not shutil.which(tool, path=path)
    )
    if missing:
        raise BuildFailed(f"Missing: apt-get install {' '.join(missing)}")


def _search_path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def mmdebstrap_command(
    archive: Path, *, overlay: Path, suite: str, mirror: str | None
) -> list[str]:
    """Return the command that installs the packages into a tar archive (pure)."""
    return [
        *("mmdebstrap", "--quiet", "--variant=minbase", "--format=tar"),
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in LEFT_OUT),
        *(f"--customize-hook=upload {shlex.quote(str(overlay / n))} /{n}" for n in sorted(FILES)),
        *(suite, str(archive)),
        *([mirror] if mirror else []),
    ]


def _install(parts: Path, suite: str, mirror: str | None) -> Path:
    overlay, archive = parts / "overlay", parts / "root.tar"
    for name, text in FILES.items():
        (overlay / name).parent.mkdir(parents=True, exist_ok=True)
        (overlay / name).write_text(text)
    run(
        *mmdebstrap_command(archive, overlay=overlay, suite=suite, mirror=mirror),
        env={"SOURCE_DATE_EPOCH": str(BUILD_TIME)},
    )
    return archive


def _make_disk(parts: Path, archive: Path, tools: BootTools) -> Path:
    disk = parts / "disk.raw"
    files = _boot_files(parts, archive)
    sectors = boot_sectors(sum(file.stat().st_size for file in files.values()))
    boot = Partition(FAT16_LBA, FIRST_SECTOR, sectors, bootable=True)
    root = Partition(LINUX, FIRST_SECTOR + sectors, ROOT_MIB * MIB // SECTOR)
    with disk.open("wb") as file:
        file.truncate((root.start + root.sectors) * SECTOR)
    _write_root(parts, archive, disk, root)
    write_boot_partition(disk, files, sectors=sectors, label="BOOT", tools=tools)
    write_first_sector(disk, [boot, root], tools)
    return disk


def _boot_files(parts: Path, archive: Path) -> dict[str, Path]:
    config = parts / "syslinux.cfg"
    config.write_text(loader_config(append=APPEND))
    files = {"syslinux.cfg": config}
    with tarfile.open(archive) as tar:
        for member in tar:
            kind = KERNEL_FILES.get(member.name.partition("-")[0])
            content = tar.extractfile(member) if kind and member.isfile() else None
            if kind and content is not None:
                files[kind] = parts / kind
                with content, files[kind].open("wb") as copy:
                    shutil.copyfileobj(content, copy)
    if len(files) != 1 + len(KERNEL_FILES):
        raise BuildFailed("The installed system has no kernel or no first file system in /boot.")
    return files


def _write_root(parts: Path, archive: Path, disk: Path, root: Partition) -> None:
    """Fill the root partition with the archive, owners and device nodes included."""
    tree, owners = parts / "tree", parts / "owners"
    tree.mkdir()
    first: tuple[str, ...] = ()
    then: tuple[str, ...] = ()
    if os.geteuid() != 0:
        first, then = ("fakeroot", "-s", str(owners)), ("fakeroot", "-i", str(owners))
    run(*first, "tar", "-x", "-p", "-f", archive, "-C", tree, "--numeric-owner")
    place = f"offset={root.start * SECTOR},hash_seed={ROOT_UUID},root_owner=0:0"
    run(
        *(*then, "mke2fs", "-q", "-F", "-t", "ext4", "-L", "root", "-U", ROOT_UUID),
        *("-E", place, "-d", tree, disk, f"{ROOT_MIB}M"),
        env={"PATH": _search_path()},
    )
