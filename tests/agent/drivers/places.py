"""A node with a driver on it, and what people can do there beside the driver: fake and libvirt."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from agent.drivers import guestfiles
from agent.drivers.base import Hypervisor, Present
from agent.drivers.fake import FakeHypervisor
from agent.drivers.libvirt.connection import Connection
from agent.drivers.libvirt.driver import LibvirtHypervisor
from agent.protocol.declarations import DropletDeclaration, ImageFormat, ImageReference
from agent.protocol.observations import DropletObservation, FoundGuest, GuestPower
from tests.agent.declared import droplet
from tests.agent.drivers import sector
from tests.agent.drivers.lab import Lab
from tests.waiting import wait_until

INSTALLATION = UUID(int=0x1000)
NODE = UUID(int=0x2000)
OTHER = UUID(int=0x3000)
SECONDS = 120.0
"""A guest under emulation speaks within a second; tests share their machine with others."""


def reference(data: bytes, image_format: ImageFormat = ImageFormat.RAW) -> ImageReference:
    return ImageReference(
        resource_id=UUID(int=77),
        sha256=hashlib.sha256(data).hexdigest(),
        format=image_format,
        size_bytes=len(data),
    )


IMAGE = reference(sector.IMAGE)


@contextlib.contextmanager
def streaming(data: bytes) -> Iterator[Iterator[bytes]]:
    yield iter([data[:1000], data[1000:]])


def stream_image(_image: ImageReference) -> contextlib.AbstractContextManager[Iterator[bytes]]:
    return streaming(sector.IMAGE)


class Place(ABC):
    """One node for one test."""

    driver: Hypervisor
    found_name = "somebody-elses"

    @abstractmethod
    def another_driver(self, *, node_id: UUID = NODE) -> Hypervisor:
        """Return a second driver on the same node, as after a restart of the agent."""

    @abstractmethod
    def kill(self, resource_id: UUID) -> None:
        """End the guest's process."""

    @abstractmethod
    def start_by_hand(self, resource_id: UUID) -> None: ...

    @abstractmethod
    def add_foreign(self) -> None:
        """Put a running guest there that nobody declared."""

    @abstractmethod
    def files(self) -> set[str]:
        """Return the names of all files that droplets have here."""

    def make(self, declared: DropletDeclaration) -> DropletDeclaration:
        """Bring the droplet to a definition, not started."""
        self.driver.fetch_image(declared.image, stream_image)
        self.driver.create_disk(declared)
        self.driver.define(declared)
        return declared

    def run(self, declared: DropletDeclaration) -> DropletDeclaration:
        """Bring the droplet up, and wait until it has spoken."""
        self.make(declared)
        self.driver.start(declared)
        self.hear(declared.resource_id, b"HELLO")
        return declared

    def hear(
        self, resource_id: UUID, words: bytes, times: int = 1, *, seconds: float = SECONDS
    ) -> None:
        """Wait until the guest's console log holds the words so often."""

        def heard() -> bool:
            log = self.driver.console_log(resource_id)
            return log is not None and log.read_bytes().count(words) >= times

        wait_until(heard, seconds=seconds, what=f"{words!r} in the console log")

    def seen(self, resource_id: UUID) -> DropletObservation:
        observed = self.driver.observe(resource_id)
        assert isinstance(observed, Present), observed
        return observed.droplet

    def wait_power(self, resource_id: UUID, *powers: GuestPower) -> None:
        wait_until(
            lambda: self.seen(resource_id).power in powers, seconds=SECONDS, what=f"{powers}"
        )


class FakePlace(Place):
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.driver = self.another_driver()

    def another_driver(self, *, node_id: UUID = NODE) -> FakeHypervisor:
        return FakeHypervisor(
            self.folder, installation_id=INSTALLATION, node_id=node_id, verify_images=True
        )

    def kill(self, resource_id: UUID) -> None:
        guestfiles.kill_guest(self.folder, resource_id)

    def start_by_hand(self, resource_id: UUID) -> None:
        guestfiles.start_guest(self.folder, resource_id)

    def add_foreign(self) -> None:
        guest = FoundGuest(
            name=self.found_name,
            native_id="7",
            power=GuestPower.RUNNING,
            vcpus=1,
            memory_mib=32,
        )
        guestfiles.add_foreign_guest(self.folder, guest)

    def files(self) -> set[str]:
        return {
            path.name for name in ("guests", "consoles") for path in (self.folder / name).iterdir()
        }


class LibvirtPlace(Place):
    def __init__(self, lab: Lab, folder: Path, *, uri: str = "", acceleration: Path) -> None:
        self.lab = lab
        self.folder = folder
        self.uri = uri or lab.uri
        # Asked once for all tests: on a machine with a broken KVM each probe costs seconds.
        shutil.copy(acceleration, folder / "acceleration.json")
        self.connections: list[Connection] = []
        self.driver = self.another_driver()

    def another_driver(self, *, node_id: UUID = NODE, seconds: float = 20.0) -> LibvirtHypervisor:
        connection = Connection(self.uri, call_seconds=seconds)
        self.connections.append(connection)
        return LibvirtHypervisor(
            self.folder,
            installation_id=INSTALLATION,
            node_id=node_id,
            uri=self.uri,
            connection=connection,
        )

    def kill(self, resource_id: UUID) -> None:
        self.lab.kill_guest(f"infra-{resource_id}")

    def start_by_hand(self, resource_id: UUID) -> None:
        self.lab.virsh("start", f"infra-{resource_id}")

    def add_foreign(self) -> None:
        self.lab.define(foreign_xml(self.found_name))
        self.lab.virsh("start", self.found_name)

    def files(self) -> set[str]:
        folder = self.folder / "storage" / "droplets"
        return {path.name for path in folder.rglob("*") if path.is_file()}

    def close(self) -> None:
        """Remove all guests, ours or not, and let go of libvirt."""
        for name in self.lab.virsh("list", "--name", "--state-running", "--state-paused").split():
            self.lab.virsh("destroy", name)
        for name in self.lab.virsh("list", "--name", "--all").split():
            self.lab.virsh("undefine", "--managed-save", "--snapshots-metadata", name)
        for connection in self.connections:
            connection.close()


def foreign_xml(name: str, *, metadata: str = "") -> str:
    return f"""
        <domain type='qemu'><name>{name}</name><metadata>{metadata}</metadata>
        <memory unit='MiB'>32</memory><vcpu>1</vcpu>
        <os><type arch='x86_64' machine='pc'>hvm</type></os></domain>"""


def declared(number: int, generation: int = 1, **changes: object) -> DropletDeclaration:
    """Return the declaration of a droplet of its own, with the boot sector as its image."""
    values: dict[str, object] = {
        "resource_id": UUID(int=number),
        "image": IMAGE,
        "memory_mib": 32,
        "hostname": "sector",
    }
    return droplet(generation, **(values | changes))
