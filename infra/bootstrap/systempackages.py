"""Which system packages are needed, why, and how it is seen that they are there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import CannotContinue

SBIN = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where daemons live; often not on the PATH of a person who is not root."""


@dataclass(frozen=True)
class Package:
    """A Debian package. It is there when one of `signs` is found and all `modules` import.

    A sign without a slash is a program; one with a slash is a path pattern from the root folder.
    """

    name: str
    why: str
    signs: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()


PRODUCT = (
    Package("python3-venv", "to make the virtual environment", modules=("venv", "ensurepip")),
    Package(
        "python3-dev",
        "to build the libvirt binding",
        signs=(f"{sysconfig.get_paths()['include']}/Python.h",),
    ),
    Package("gcc", "to build the libvirt binding", signs=("gcc", "cc")),
    Package("libc6-dev", "to build the libvirt binding", signs=("/usr/include/stdio.h",)),
    Package("pkg-config", "to build the libvirt binding", signs=("pkg-config", "pkgconf")),
    Package(
        "libvirt-dev",
        "to build the libvirt binding",
        signs=("/usr/include/libvirt/libvirt.h", "/usr/local/include/libvirt/libvirt.h"),
    ),
    Package(
        "postgresql",
        "the database; a private cluster, the machine's own is not used",
        signs=("/usr/lib/postgresql/*/bin/initdb", "initdb"),
    ),
    Package("redis-server", "the queue's wake-ups; a private server", signs=("redis-server",)),
    Package("qemu-system-x86", "runs guests", signs=("qemu-system-x86_64",)),
    Package("qemu-utils", "makes guests' disks", signs=("qemu-img",)),
    Package("libvirt-daemon-system", "keeps guests", signs=("libvirtd", "virtqemud")),
    Package(
        "libvirt-daemon-driver-qemu",
        "keeps guests",
        signs=(
            "/usr/lib/*/libvirt/connection-driver/libvirt_driver_qemu.so",
            "/usr/lib*/libvirt/connection-driver/libvirt_driver_qemu.so",
        ),
    ),
    Package("libvirt-clients", "asks libvirt what runs", signs=("virsh",)),
)

TESTS = (
    Package("chromium", "the browser of the tests", signs=("chromium",)),
    Package("mmdebstrap", "builds the Debian image of the tests", signs=("mmdebstrap",)),
    Package("e2fsprogs", "builds the Debian image of the tests", signs=("mke2fs",)),
    Package("busybox-static", "reads archives in the tests", signs=("busybox",)),
    Package("binutils", "assembles the boot sector of the tests", signs=("objcopy",)),
)


def find_program(name: str, root: Path = Path("/")) -> Path | None:
    """Return the program's path, on PATH or where daemons live; None when it is not there."""
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *SBIN]
    below = [str(root / folder.lstrip("/")) for folder in folders if folder]
    found = shutil.which(name, path=os.pathsep.join(below))
    return Path(found) if found else None


def is_present(package: Package, root: Path = Path("/")) -> bool:
    """Return whether what the package brings is on this machine, however it came there."""
    if any(importlib.util.find_spec(module) is None for module in package.modules):
        return False
    return not package.signs or any(_is_found(sign, root) for sign in package.signs)


def _is_found(sign: str, root: Path) -> bool:
    if "/" not in sign:
        return find_program(sign, root) is not None
    return next(root.glob(sign.lstrip("/")), None) is not None


def missing(packages: Iterable[Package], root: Path = Path("/")) -> list[Package]:
    """Return those whose signs are not found."""
    return [package for package in packages if not is_present(package, root)]


def ensure_packages(packages: Iterable[Package], *, may_install: bool, progress: Progress) -> None:
    """Install what is missing, after saying what and why.

    Raises CannotContinue when it must not or cannot install.
    """
    lacking = missing(packages)
    if not lacking:
        progress.say("System packages: all there")
        return
    progress.say("System packages that are missing:")
    for package in lacking:
        progress.plain(f"            {package.name:28} {package.why}")
    names = [package.name for package in lacking]
    command = f"apt-get install --no-install-recommends {' '.join(names)}"
    if not may_install:
        raise CannotContinue(f"Nothing was installed. To install them: {command}")
    if find_program("apt-get") is None:
        raise CannotContinue(
            "This system has no apt. Install what these Debian packages stand for, then run this "
            f"again: {' '.join(names)}"
        )
    with progress.step(f"Installing {len(names)} system packages with apt"):
        _install(names)
    still = missing(lacking)
    if still:
        raise CannotContinue(
            f"apt installed {', '.join(p.name for p in still)}, yet what was looked for is not "
            f"there: {'; '.join(' or '.join(p.signs or p.modules) for p in still)}"
        )


def as_root() -> list[str]:
    """Return the words to put before a command that needs root. Raises CannotContinue."""
    if os.geteuid() == 0:
        return []
    if find_program("sudo") is None:
        raise CannotContinue("This needs root: run it as root, or install sudo.")
    return ["sudo"]


def _install(names: list[str]) -> None:
    script = Path(__file__).with_name("aptinstall.py")
    done = subprocess.run(
        [*as_root(), sys.executable, "-I", str(script), *names],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        tail = "\n".join(done.stdout.strip().splitlines()[-15:])
        raise CannotContinue(f"apt could not install them:\n{tail}")
