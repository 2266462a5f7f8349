"""The driver `libvirt`: droplets are libvirt guests on this node, their disks plain files.

Ours is a guest that has our name for a droplet and our mark with this installation and this node.
Everything else is listed and never touched.
"""

from __future__ import annotations

import stat
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar
from urllib.parse import urlsplit
from uuid import UUID
from weakref import WeakSet

import libvirt

from agent.drivers.base import (
    DriverError,
    HypervisorFacts,
    ImageStream,
    Observed,
    OutcomeUnknown,
    Refused,
    SerialConsole,
    Unknown,
)
from agent.drivers.libvirt.connection import Connection, Turn
from agent.drivers.libvirt.console import LibvirtConsole
from agent.drivers.libvirt.errors import answered_anyway
from agent.drivers.libvirt.guests import (
    SeenGuest,
    find_guest,
    look,
    look_at_all,
    restores_otherwise,
)
from agent.drivers.libvirt.machine import Node
from agent.drivers.libvirt.storage import RootDisk, Storage
from agent.drivers.libvirt.xml import Owner, domain_xml, read_domain
from agent.observed import Absent, Present
from agent.protocol.declarations import DropletDeclaration, ImageReference
from agent.protocol.observations import DropletObservation, FoundGuest, GuestPower, Inventory

T = TypeVar("T")

START_SECONDS = 60.0
STOP_SECONDS = 45.0
"""libvirt itself gives an emulator 15 s to end, then kills it and waits for 15 s more."""

DYING_SECONDS = 3.0
"""An emulator that ends resets its monitor a moment before libvirt says that the guest is off."""

_UNDEFINE = (
    libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE
    | libvirt.VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA
    | libvirt.VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA
    | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
)


@dataclass(frozen=True)
class _Ours:
    """A guest of ours at libvirt, and what was seen of it."""

    domain: libvirt.virDomain
    seen: SeenGuest


class LibvirtHypervisor:
    """Droplets of one installation on one node. `state_dir` holds all files the driver makes.

    Under qemu:///system others may pass through it (not list it): guests run as another user.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        installation_id: UUID,
        node_id: UUID,
        uri: str = "qemu:///system",
        connection: Connection | None = None,
    ) -> None:
        self._owner = Owner(installation_id, node_id)
        self._storage = Storage((state_dir / "storage").resolve(), self._owner)
        self._connection = connection or Connection(uri)
        self._lock = threading.Lock()
        self._consoles: WeakSet[LibvirtConsole] = WeakSet()
        self._connection.on_loss(self._lose_consoles)
        separate_user = urlsplit(uri).path == "/system"
        if separate_user:
            state_dir.chmod(state_dir.stat().st_mode | stat.S_IXOTH)
        self._node = Node(
            storage=self._storage.folder,
            kept=state_dir / "acceleration.json",
            separate_user=separate_user,
        )

    def facts(self) -> HypervisorFacts:
        details = {"driver": "libvirt", "uri": self._connection.uri}
        try:
            libvirt_version, qemu_version = self._connection.call(
                lambda turn: (turn.connection.getLibVersion(), turn.connection.getVersion())
            )
        except DriverError as error:
            return self._node.facts(version="", problem=str(error), details=details)
        version = f"libvirt {_dotted(libvirt_version)}, QEMU {_dotted(qemu_version)}"
        return self._node.facts(version=version, problem="", details=details)

    def inventory(self) -> Inventory:
        try:
            guests, problems = self._connection.call(look_at_all)
            left = set(self._storage.droplets())
        except (DriverError, OSError) as error:
            return Inventory(complete=False, problem=str(error))
        droplets, found = [], []
        for guest in guests:
            if guest.belongs_to(self._owner):
                left.discard(guest.resource_id)
                try:
                    droplets.append(self._observation(guest))
                except OSError as error:
                    problems.append(str(error))
            else:
                found.append(_found(guest))
        droplets += [_leftover(each, disk) for each in left if (disk := self._disk(each))]
        return Inventory(
            complete=not problems,
            droplets=tuple(sorted(droplets, key=lambda droplet: droplet.resource_id)),
            found=tuple(found),
            problem=" ".join(problems),
        )

    def observe(self, resource_id: UUID) -> Observed:
        try:
            seen = self._connection.call(lambda turn: self._look(turn, resource_id))
            disk = self._disk(resource_id)
            if seen is not None:
                if not seen.belongs_to(self._owner):
                    return Unknown("A guest of that name belongs to somebody else.")
                droplet = self._observation(seen)
                return Present(droplet, defined=seen.kept is not None, disk=disk is not None)
        except (DriverError, OSError) as error:
            return Unknown(str(error))
        if disk is None:
            return Absent()
        return Present(_leftover(resource_id, disk), defined=False, disk=True)

    def has_image(self, image: ImageReference) -> bool:
        return _on_disk(lambda: self._storage.images.has(image))

    def fetch_image(self, image: ImageReference, stream: ImageStream) -> None:
        self._storage.images.fetch(image, stream)

    def create_disk(self, droplet: DropletDeclaration) -> None:
        disk = _on_disk(lambda: self._disk(droplet.resource_id))
        if disk is not None and disk.record.rebuilds == droplet.rebuilds:
            return
        self._check_off(droplet.resource_id)
        _on_disk(lambda: self._storage.create_disk(droplet))

    def grow_disk(self, droplet: DropletDeclaration) -> None:
        self._check_off(droplet.resource_id)
        _on_disk(lambda: self._storage.grow_disk(droplet))

    def define(self, droplet: DropletDeclaration) -> None:
        xml = self._prepare(droplet)
        self._connection.call(lambda turn: self._define(turn, droplet.resource_id, xml))

    def start(self, droplet: DropletDeclaration) -> None:
        machine = self._node.machine()

        def work(turn: Turn) -> None:
            ours = self._ours(turn, droplet.resource_id)
            if ours.seen.is_on:
                if ours.seen.restarts != droplet.restarts:
                    raise Refused("droplet.running", "It runs under another number of restarts.")
                return
            kept, domain = ours.seen.kept, ours.domain
            if kept is None or kept.mark is None:
                raise Refused("droplet.undefined", "The droplet has no definition.")
            written = (kept.mark.restarts, kept.domain_type)
            if written != (droplet.restarts, machine.domain_type):
                domain = self._define(turn, droplet.resource_id, self._prepare(droplet))
            flags = _start_flags(domain)
            turn.mark()
            with answered_anyway(lambda: self._runs_so(turn, droplet)):
                domain.createWithFlags(flags)

        self._connection.call(work, seconds=START_SECONDS)

    def request_stop(self, resource_id: UUID) -> None:
        def work(turn: Turn) -> None:
            ours = self._ours_if_any(turn, resource_id)
            if ours is not None and ours.seen.power is GuestPower.RUNNING:
                turn.mark()
                with answered_anyway(
                    lambda: not self._is_on(turn, resource_id), seconds=DYING_SECONDS
                ):
                    ours.domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)

        self._connection.call(work)

    def force_stop(self, resource_id: UUID) -> None:
        def work(turn: Turn) -> None:
            ours = self._ours_if_any(turn, resource_id)
            if ours is not None and ours.seen.is_on:
                turn.mark()
                with answered_anyway(
                    lambda: not self._is_on(turn, resource_id), seconds=DYING_SECONDS
                ):
                    ours.domain.destroyFlags(libvirt.VIR_DOMAIN_DESTROY_DEFAULT)

        self._connection.call(work, seconds=STOP_SECONDS)

    def remove(self, resource_id: UUID) -> None:
        def work(turn: Turn) -> None:
            ours = self._ours_if_any(turn, resource_id)
            if ours is None:
                return
            if ours.seen.is_on:
                raise Refused("droplet.running", "A running droplet is not removed.")
            turn.mark()
            with answered_anyway(lambda: find_guest(turn.connection, resource_id) is None):
                ours.domain.undefineFlags(_UNDEFINE)

        self._connection.call(work)
        _on_disk(lambda: self._storage.remove(resource_id))

    def open_console(self, resource_id: UUID) -> SerialConsole:
        def work(turn: Turn) -> LibvirtConsole:
            ours = self._ours(turn, resource_id)
            if not ours.seen.is_on:
                raise Refused("droplet.not_running", "Only a running droplet has a console.")
            stream = turn.connection.newStream(libvirt.VIR_STREAM_NONBLOCK)
            turn.mark()
            ours.domain.openConsole(None, stream, libvirt.VIR_DOMAIN_CONSOLE_FORCE)
            console = LibvirtConsole(turn.connection, stream)
            with self._lock:
                self._consoles.add(console)
            return console

        return self._connection.call(work)

    def console_log(self, resource_id: UUID) -> Path | None:
        path = self._storage.console_log(resource_id)
        return path if path.exists() else None

    def watch(self, wake: Callable[[], None]) -> None:
        self._connection.watch(wake)

    def close(self) -> None:
        """Let go of libvirt. Guests go on as they are."""
        self._connection.close()

    def _lose_consoles(self, lost: libvirt.virConnect) -> None:
        with self._lock:
            consoles = tuple(self._consoles)
        for console in consoles:
            if console.connection is lost:
                console.lose()

    def _prepare(self, droplet: DropletDeclaration) -> str:
        """Write the seed and return the definition that goes with it."""
        machine = self._node.machine()
        _on_disk(lambda: self._storage.write_seed(droplet))
        files = _on_disk(lambda: self._storage.files(droplet))
        return domain_xml(droplet, owner=self._owner, machine=machine, files=files)

    def _define(self, turn: Turn, resource_id: UUID, xml: str) -> libvirt.virDomain:
        seen = self._look(turn, resource_id)
        if seen is not None and not seen.belongs_to(self._owner):
            raise Refused("guest.foreign", "A guest of that name belongs to somebody else.")
        turn.mark()
        return turn.connection.defineXMLFlags(xml, libvirt.VIR_DOMAIN_DEFINE_VALIDATE)

    def _look(self, turn: Turn, resource_id: UUID) -> SeenGuest | None:
        domain = find_guest(turn.connection, resource_id)
        return None if domain is None else look(domain)

    def _is_on(self, turn: Turn, resource_id: UUID) -> bool:
        seen = self._look(turn, resource_id)
        return seen is not None and seen.is_on

    def _runs_so(self, turn: Turn, droplet: DropletDeclaration) -> bool:
        seen = self._look(turn, droplet.resource_id)
        return seen is not None and seen.is_on and seen.restarts == droplet.restarts

    def _ours(self, turn: Turn, resource_id: UUID) -> _Ours:
        """Return our guest. Raises `Refused` if there is none, or it is somebody else's."""
        ours = self._ours_if_any(turn, resource_id)
        if ours is None:
            raise Refused("droplet.undefined", "The droplet has no definition.")
        return ours

    def _ours_if_any(self, turn: Turn, resource_id: UUID) -> _Ours | None:
        """Return our guest, None if there is none. Raises `Refused` for somebody else's."""
        domain = find_guest(turn.connection, resource_id)
        seen = None if domain is None else look(domain)
        if domain is None or seen is None:
            return None
        if not seen.belongs_to(self._owner):
            raise Refused("guest.foreign", "A guest of that name belongs to somebody else.")
        return _Ours(domain, seen)

    def _check_off(self, resource_id: UUID) -> None:
        """Raise `Refused` if the guest runs, whoever it belongs to: its disk is in use."""
        seen = self._connection.call(lambda turn: self._look(turn, resource_id))
        if seen is not None and seen.is_on:
            raise Refused("disk.in_use", "The droplet runs on its present disk.")

    def _disk(self, resource_id: UUID) -> RootDisk | None:
        return self._storage.root_disk(resource_id)

    def _observation(self, guest: SeenGuest) -> DropletObservation:
        """Return our guest as it is: a running one with what it was started with."""
        mark = guest.mark
        if mark is None:
            raise OSError(f"{guest.name} bears no mark")
        disk = self._disk(mark.resource_id)
        return DropletObservation(
            resource_id=mark.resource_id,
            generation=guest.generation,
            power=guest.power,
            vcpus=guest.live.vcpus,
            memory_mib=guest.live.memory_mib,
            disk_gib=disk.disk_gib if disk else 0,
            restarts=guest.restarts,
            rebuilds=disk.record.rebuilds if disk else mark.rebuilds,
            image_sha256=disk.record.image_sha256 if disk else mark.image_sha256,
        )


def _start_flags(domain: libvirt.virDomain) -> int:
    kept = read_domain(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
    return int(libvirt.VIR_DOMAIN_START_FORCE_BOOT) if restores_otherwise(domain, kept) else 0


def _leftover(resource_id: UUID, disk: RootDisk) -> DropletObservation:
    """Return what is left of a droplet that has a disk but no definition."""
    return DropletObservation(
        resource_id=resource_id,
        generation=disk.record.generation,
        power=GuestPower.STOPPED,
        vcpus=0,
        memory_mib=0,
        disk_gib=disk.disk_gib,
        rebuilds=disk.record.rebuilds,
        image_sha256=disk.record.image_sha256,
    )


def _found(guest: SeenGuest) -> FoundGuest:
    mark = guest.mark
    return FoundGuest(
        name=guest.name,
        native_id=guest.native_id,
        power=guest.power,
        vcpus=guest.live.vcpus,
        memory_mib=guest.live.memory_mib,
        installation_id=mark.owner.installation_id if mark else None,
        resource_id=mark.resource_id if mark else None,
    )


def _on_disk(work: Callable[[], T]) -> T:
    """Return what the work returns; what the file system cannot say or do is not known."""
    try:
        return work()
    except OSError as error:
        raise OutcomeUnknown("disk.failed", str(error)) from error


def _dotted(version: int) -> str:
    return f"{version // 1_000_000}.{version // 1000 % 1000}.{version % 1000}"
