"""The files of droplets on this node: root disks over cached images, seeds and console logs.

    <storage>/images/<sha256>
    <storage>/droplets/<id>/root-<rebuilds>.qcow2, root-<rebuilds>.json, seed.iso, console.log

A root disk gets its name only once it is whole and its description lies beside it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent.drivers.base import OutcomeUnknown, Refused, Rejected
from agent.drivers.libvirt.images import ImageCache, check_room, sync_folder, virtual_bytes
from agent.drivers.libvirt.xml import Files, Owner
from agent.protocol.declarations import DropletDeclaration, ImageFormat
from agent.protocol.values import Generation
from agent.seed import meta_data, write_seed

QEMU_IMG_SECONDS = 60.0
GIB = 2**30
PASSABLE = 0o711
"""The emulator runs as a user of its own: it has to get at named files, and lists none."""

_REMOVED = ".removed-"


class DiskRecord(BaseModel):
    """What is written beside a root disk: whose it is and what it was made of."""

    model_config = ConfigDict(frozen=True)

    installation_id: UUID
    node_id: UUID
    generation: Generation
    rebuilds: int
    image_sha256: str
    image_format: ImageFormat


@dataclass(frozen=True)
class RootDisk:
    """A root disk that is whole; `disk_gib` is its present size."""

    path: Path
    record: DiskRecord
    disk_gib: int


class Storage:
    """The folder of one agent. Opening it removes what was cut off half-made."""

    def __init__(self, folder: Path, owner: Owner) -> None:
        self.folder = folder
        self.images = ImageCache(folder / "images")
        self._droplets = folder / "droplets"
        self._owner = owner
        for path in (folder, folder / "images", self._droplets):
            path.mkdir(parents=True, exist_ok=True)
            path.chmod(PASSABLE)
        self._sweep()
        self.images.sweep()
        for path in self._droplets.glob("*/.root-*"):
            path.unlink(missing_ok=True)

    def droplets(self) -> tuple[UUID, ...]:
        """Return the droplets of which a root disk of ours is here. Raises `OSError`."""
        with os.scandir(self._droplets) as entries:
            names = sorted(entry.name for entry in entries if not entry.name.startswith("."))
        found = []
        for name in names:
            with contextlib.suppress(ValueError):
                found.append(UUID(name))
        return tuple(each for each in found if self.root_disk(each) is not None)

    def root_disk(self, resource_id: UUID) -> RootDisk | None:
        """Return the newest whole root disk, None if there is none of ours. Raises `OSError`."""
        found = [self._read(path) for path in self._folder(resource_id).glob("root-*.json")]
        whole = [disk for disk in found if disk is not None]
        return max(whole, key=lambda disk: disk.record.rebuilds, default=None)

    def create_disk(self, droplet: DropletDeclaration) -> None:
        """Make the root disk of this rebuild number and remove the others."""
        self._check_ours(droplet.resource_id)
        if self._present(droplet) is None:
            self._make_disk(droplet)
        for path in self._folder(droplet.resource_id).glob("root-*"):
            if path.stem != f"root-{droplet.rebuilds}":
                path.unlink(missing_ok=True)

    def grow_disk(self, droplet: DropletDeclaration) -> None:
        """Make the disk as large as declared. `Rejected` if it is larger already."""
        disk = self.root_disk(droplet.resource_id)
        if disk is None:
            raise Refused("disk.missing", "The droplet has no disk to grow.")
        if droplet.disk_gib < disk.disk_gib:
            raise Rejected("disk.shrink", "A disk cannot be made smaller.")
        if droplet.disk_gib > disk.disk_gib:
            _qemu_img("resize", "-f", "qcow2", str(disk.path), f"{droplet.disk_gib}G")

    def write_seed(self, droplet: DropletDeclaration) -> None:
        """Write what the guest reads at its first start after this number of rebuilds."""
        self._make_folder(droplet.resource_id)
        write_seed(
            self._folder(droplet.resource_id) / "seed.iso",
            meta_data=meta_data(
                instance_id=f"{droplet.resource_id}-{droplet.rebuilds}",
                hostname=droplet.hostname,
                ssh_keys=droplet.ssh_keys,
            ),
            user_data=droplet.user_data,
        )

    def files(self, droplet: DropletDeclaration) -> Files:
        """Return the files of the droplet's guest. Its disk says itself what it was made of."""
        folder = self._folder(droplet.resource_id)
        disk = self.root_disk(droplet.resource_id)
        made_of = (disk.record.image_sha256, disk.record.image_format) if disk else None
        sha256, image_format = made_of or (droplet.image.sha256, droplet.image.format)
        return Files(
            disk=disk.path if disk else folder / f"root-{droplet.rebuilds}.qcow2",
            image=self.images.path(sha256),
            image_format=image_format.value,
            seed=folder / "seed.iso",
            console_log=self.console_log(droplet.resource_id),
        )

    def console_log(self, resource_id: UUID) -> Path:
        return self._folder(resource_id) / "console.log"

    def remove(self, resource_id: UUID) -> None:
        """Remove all files of the droplet: out of sight in one step, then one by one."""
        self._check_ours(resource_id)
        with contextlib.suppress(FileNotFoundError):
            self._folder(resource_id).rename(self._droplets / f"{_REMOVED}{resource_id}")
            sync_folder(self._droplets)
        self._sweep()

    def _make_disk(self, droplet: DropletDeclaration) -> None:
        image = self.images.path(droplet.image.sha256)
        if not self.images.has(droplet.image):
            raise Rejected("image.missing", "The image is not in the cache of this node.")
        if virtual_bytes(image, droplet.image.format) > droplet.disk_gib * GIB:
            raise Rejected("disk.too_small", "The image does not fit on a disk of this size.")
        check_room(self._droplets, 0)
        self._make_folder(droplet.resource_id)
        path = self._folder(droplet.resource_id) / f"root-{droplet.rebuilds}.qcow2"
        fresh = path.with_name(f".{path.name}")
        backing = os.path.relpath(image, path.parent)
        formats = ("-f", "qcow2", "-F", droplet.image.format.value)
        _qemu_img("create", *formats, "-b", backing, str(fresh), f"{droplet.disk_gib}G")
        fresh.chmod(0o600)
        _sync_file(fresh)
        record = DiskRecord(
            installation_id=self._owner.installation_id,
            node_id=self._owner.node_id,
            generation=droplet.generation,
            rebuilds=droplet.rebuilds,
            image_sha256=droplet.image.sha256,
            image_format=droplet.image.format,
        )
        described = path.with_suffix(".json")
        described.write_text(record.model_dump_json())
        _sync_file(described)
        fresh.replace(path)
        sync_folder(path.parent)

    def _present(self, droplet: DropletDeclaration) -> RootDisk | None:
        disk = self.root_disk(droplet.resource_id)
        return disk if disk is not None and disk.record.rebuilds == droplet.rebuilds else None

    def _read(self, described: Path) -> RootDisk | None:
        path = described.with_suffix(".qcow2")
        try:
            record = _read_record(described)
            size = virtual_bytes(path, ImageFormat.QCOW2)
        except FileNotFoundError:
            return None
        except Rejected as error:
            raise OSError(f"{path} cannot be read: {error}") from error
        return RootDisk(path, record, size // GIB) if self._owns(record) else None

    def _owns(self, record: DiskRecord) -> bool:
        return Owner(record.installation_id, record.node_id) == self._owner

    def _check_ours(self, resource_id: UUID) -> None:
        """Raise `Refused` if a disk of another installation or node lies there."""
        records = [_read_record(path) for path in self._folder(resource_id).glob("root-*.json")]
        if not all(self._owns(record) for record in records):
            raise Refused("disk.foreign", "The disk of that name belongs to somebody else.")

    def _folder(self, resource_id: UUID) -> Path:
        return self._droplets / str(resource_id)

    def _make_folder(self, resource_id: UUID) -> None:
        folder = self._folder(resource_id)
        folder.mkdir(exist_ok=True)
        folder.chmod(PASSABLE)

    def _sweep(self) -> None:
        """Remove what a remove that was cut off has left."""
        for path in self._droplets.glob(f"{_REMOVED}*"):
            shutil.rmtree(path, ignore_errors=True)


def untraversable(folder: Path) -> Iterator[Path]:
    """Yield the folders above (and with) this one that another user cannot pass through."""
    for path in (folder, *folder.parents):
        if not path.stat().st_mode & 0o001:
            yield path


def _read_record(path: Path) -> DiskRecord:
    """Return what is written beside a disk. Raises `OSError`, also for what makes no sense."""
    try:
        return DiskRecord.model_validate_json(path.read_text())
    except ValueError as error:
        raise OSError(f"{path} cannot be read: {error}") from error


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _qemu_img(*arguments: str) -> None:
    """Run qemu-img. Raises `Rejected` if it cannot be started, `OutcomeUnknown` otherwise."""
    try:
        subprocess.run(
            ["qemu-img", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=QEMU_IMG_SECONDS,
            check=True,
        )
    except OSError as error:
        raise Rejected("disk.tool", f"qemu-img cannot be started: {error.strerror}.") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode(errors="replace").strip()
        raise OutcomeUnknown("disk.failed", f"qemu-img failed: {said[:300]}") from error
    except subprocess.TimeoutExpired as error:
        raise OutcomeUnknown("disk.slow", "qemu-img took too long and was ended.") from error
