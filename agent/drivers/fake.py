"""A hypervisor made of files in a folder: for tests, chaos runs and machines without libvirt.

Guests live in the folder, not in the process: they survive `kill -9` of the agent, and another
process may kill or start them by hand (`agent.drivers.guestfiles`). `faults.json` declares what
goes wrong, `capacity.json` what the node can hold, `calls.log` tells what was really done.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

from agent.drivers.base import (
    HypervisorFacts,
    ImageStream,
    Observed,
    OutcomeUnknown,
    Refused,
    Rejected,
    SerialConsole,
    Unknown,
)
from agent.drivers.faults import Misfortune, draw, read_faults
from agent.drivers.guestfiles import (
    FOLDERS,
    Capacity,
    Definition,
    Disk,
    Guest,
    add_foreign_guest,
    calls,
    cut_power,
    foreign_guests,
    found_guest,
    kill_guest,
    locked,
    log_call,
    lose_guest,
    observation,
    read_guest,
    runs,
    start_guest,
    started,
    write_guest,
)
from agent.observed import Absent, Present
from agent.protocol.declarations import DropletDeclaration, ImageReference
from agent.protocol.observations import DropletObservation, Inventory
from agent.protocol.values import Generation

__all__ = [
    "FakeHypervisor",
    "add_foreign_guest",
    "calls",
    "cut_power",
    "kill_guest",
    "lose_guest",
    "runs",
    "start_guest",
]

WATCH_SECONDS = 0.2
CONSOLE_SECONDS = 0.2


class FakeHypervisor:
    """The driver `fake`. `verify_images` makes it read and check images as a real one does."""

    def __init__(
        self, folder: Path, *, installation_id: UUID, node_id: UUID, verify_images: bool = False
    ) -> None:
        self._folder = folder
        self._installation_id = installation_id
        self._node_id = node_id
        self._verify_images = verify_images
        self._closed = threading.Event()
        for name in FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)

    def facts(self) -> HypervisorFacts:
        self._begin("facts")
        found = Capacity()
        with contextlib.suppress(FileNotFoundError):
            found = Capacity.model_validate_json((self._folder / "capacity.json").read_text())
        return HypervisorFacts(**found.model_dump(), version="fake 1", details={"driver": "fake"})

    def inventory(self) -> Inventory:
        if self._begin("inventory").unreadable:
            return Inventory(complete=False, problem="the inventory cannot be read (declared)")
        droplets: list[DropletObservation] = []
        found = list(foreign_guests(self._folder))
        with locked(self._folder):
            for path in sorted((self._folder / "guests").glob("*.json")):
                guest = read_guest(self._folder, UUID(path.stem))
                if self._owns(guest) and guest != Guest(resource_id=guest.resource_id):
                    droplets.append(observation(guest))
                elif guest.definition is not None:
                    found.append(found_guest(guest, guest.definition))
        return Inventory(complete=True, droplets=tuple(droplets), found=tuple(found))

    def observe(self, resource_id: UUID) -> Observed:
        if self._begin("observe").unreadable:
            return Unknown("the droplet cannot be read (declared)")
        with locked(self._folder):
            guest = read_guest(self._folder, resource_id)
        if not self._owns(guest):
            return Unknown("A guest of that name belongs to somebody else.")
        if guest == Guest(resource_id=resource_id):
            return Absent()
        return Present(
            observation(guest),
            defined=guest.definition is not None,
            disk=guest.disk is not None,
        )

    def has_image(self, image: ImageReference) -> bool:
        if self._begin("has_image").unreadable:
            raise OutcomeUnknown("fake.unreadable", "the image cache cannot be read (declared)")
        return (self._folder / "images" / image.sha256).exists()

    def fetch_image(self, image: ImageReference, stream: ImageStream) -> None:
        with self._acting("fetch_image", image.resource_id) as done:
            path = self._folder / "images" / image.sha256
            if path.exists():
                return
            if self._verify_images:
                _check_image(image, stream)
            path.write_text(image.model_dump_json())
            done()

    def create_disk(self, droplet: DropletDeclaration) -> None:
        with self._changing("create_disk", droplet.resource_id, droplet.generation) as (guest, put):
            if guest.disk is not None and guest.disk.rebuilds == droplet.rebuilds:
                return
            if guest.running is not None:
                raise Refused("disk.in_use", "The droplet runs on its present disk.")
            if not (self._folder / "images" / droplet.image.sha256).exists():
                raise Rejected("image.missing", "The image is not in the cache of this node.")
            disk = Disk(
                rebuilds=droplet.rebuilds,
                disk_gib=droplet.disk_gib,
                image_sha256=droplet.image.sha256,
                generation=droplet.generation,
            )
            put(guest.model_copy(update={"disk": disk}))

    def grow_disk(self, droplet: DropletDeclaration) -> None:
        with self._changing("grow_disk", droplet.resource_id, droplet.generation) as (guest, put):
            if guest.disk is None:
                raise Refused("disk.missing", "The droplet has no disk to grow.")
            if guest.running is not None:
                raise Refused("disk.in_use", "The droplet runs on its present disk.")
            if droplet.disk_gib < guest.disk.disk_gib:
                raise Rejected("disk.shrink", "A disk cannot be made smaller.")
            disk = guest.disk.model_copy(update={"disk_gib": droplet.disk_gib})
            put(guest.model_copy(update={"disk": disk}))

    def define(self, droplet: DropletDeclaration) -> None:
        with self._changing("define", droplet.resource_id, droplet.generation) as (guest, put):
            put(guest.model_copy(update={"definition": self._definition(droplet)}))

    def start(self, droplet: DropletDeclaration) -> None:
        with self._changing("start", droplet.resource_id, droplet.generation) as (guest, put):
            if guest.running is not None:
                if guest.running.restarts != droplet.restarts:
                    raise Refused("droplet.running", "It runs under another number of restarts.")
                return
            if guest.definition is None or guest.disk is None:
                raise Refused("droplet.undefined", "The droplet has no definition or no disk.")
            definition = guest.definition.model_copy(update={"restarts": droplet.restarts})
            put(started(self._folder, guest.model_copy(update={"definition": definition})))

    def request_stop(self, resource_id: UUID) -> None:
        with self._changing("request_stop", resource_id, None) as (guest, put):
            faults = read_faults(self._folder)
            if guest.running is None or guest.running.stops_at or faults.stop_ignored:
                return
            stops_at = time.time() + faults.stop_seconds
            running = guest.running.model_copy(update={"stops_at": stops_at})
            put(guest.model_copy(update={"running": running}))

    def force_stop(self, resource_id: UUID) -> None:
        with self._changing("force_stop", resource_id, None) as (guest, put):
            put(guest.model_copy(update={"running": None}))

    def remove(self, resource_id: UUID) -> None:
        with self._changing("remove", resource_id, None) as (guest, put):
            if guest.running is not None:
                raise Refused("droplet.running", "A running droplet is not removed.")
            for suffix in ("log", "taken"):
                (self._folder / "consoles" / f"{resource_id}.{suffix}").unlink(missing_ok=True)
            put(Guest(resource_id=resource_id))

    def open_console(self, resource_id: UUID) -> SerialConsole:
        self._begin("open_console")
        with locked(self._folder):
            guest = read_guest(self._folder, resource_id)
        if not self._owns(guest):
            raise Refused("guest.foreign", "A guest of that name belongs to somebody else.")
        if guest.definition is None or guest.running is None:
            raise Refused("droplet.not_running", "Only a running droplet has a console.")
        return _Console(self._folder, guest.definition.hostname, resource_id)

    def console_log(self, resource_id: UUID) -> Path | None:
        path = self._folder / "consoles" / f"{resource_id}.log"
        return path if path.exists() else None

    def watch(self, wake: Callable[[], None]) -> None:
        guests = self._folder / "guests"
        seen = guests.stat().st_mtime_ns

        def look() -> None:
            last = seen
            while not self._closed.wait(WATCH_SECONDS):
                with contextlib.suppress(FileNotFoundError):
                    now = guests.stat().st_mtime_ns
                    if now != last:
                        last = now
                        wake()

        threading.Thread(target=look, name="fake-hypervisor-watch", daemon=True).start()

    def close(self) -> None:
        """End the watching thread. Guests stay as they are."""
        self._closed.set()

    def _begin(self, call: str) -> Misfortune:
        with locked(self._folder):
            fate = draw(self._folder, call)
        fate.wait()
        fate.before()
        return fate

    @contextlib.contextmanager
    def _acting(
        self, call: str, resource_id: UUID, generation: Generation | None = None
    ) -> Iterator[Callable[[], None]]:
        """Run one change under the lock and its declared faults, and log it."""
        fate = self._begin(call)
        changed = False

        def done() -> None:
            nonlocal changed
            changed = True

        with locked(self._folder):
            yield done
            log_call(self._folder, call, resource_id, generation, changed=changed)
        fate.after()

    @contextlib.contextmanager
    def _changing(
        self, call: str, resource_id: UUID, generation: Generation | None
    ) -> Iterator[tuple[Guest, Callable[[Guest], None]]]:
        """Yield the guest and how to put its new state; `Refused` for a guest not ours."""
        with self._acting(call, resource_id, generation) as done:
            before = read_guest(self._folder, resource_id)
            if not self._owns(before):
                raise Refused("guest.foreign", "A guest of that name belongs to somebody else.")

            def put(after: Guest) -> None:
                if after != before:
                    write_guest(self._folder, after)
                    done()

            yield before, put

    def _owns(self, guest: Guest) -> bool:
        definition = guest.definition
        return definition is None or (
            definition.installation_id == self._installation_id
            and definition.node_id == self._node_id
        )

    def _definition(self, droplet: DropletDeclaration) -> Definition:
        return Definition(
            installation_id=self._installation_id,
            node_id=self._node_id,
            generation=droplet.generation,
            hostname=droplet.hostname,
            vcpus=droplet.vcpus,
            memory_mib=droplet.memory_mib,
            restarts=droplet.restarts,
            rebuilds=droplet.rebuilds,
        )


class _Console:
    """Says HELLO and the host name, then gives back what is written to it, while it runs.

    The newest console takes over from whoever had it before.
    """

    def __init__(self, folder: Path, hostname: str, resource_id: UUID) -> None:
        self._folder = folder
        self._resource_id = resource_id
        self._closed = threading.Event()
        self._taken = folder / "consoles" / f"{resource_id}.taken"
        self._token = f"{os.getpid()}.{time.monotonic_ns()}"
        self._taken.write_text(self._token)
        self._waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._waiting.put(f"HELLO {hostname}\r\n".encode())

    def read(self) -> bytes:
        while not self._closed.is_set():
            with contextlib.suppress(queue.Empty):
                return self._waiting.get(timeout=CONSOLE_SECONDS)
            if not (runs(self._folder, self._resource_id) and self._is_newest()):
                self.close()
        return b""

    def write(self, data: bytes) -> None:
        if data and not self._closed.is_set():
            self._waiting.put(data)
            with (self._folder / "consoles" / f"{self._resource_id}.log").open("ab") as log:
                log.write(data)

    def close(self) -> None:
        self._closed.set()

    def _is_newest(self) -> bool:
        try:
            return self._taken.read_text() == self._token
        except FileNotFoundError:
            return False


def _check_image(image: ImageReference, stream: ImageStream) -> None:
    digest, size = hashlib.sha256(), 0
    with stream(image) as chunks:
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
    if size != image.size_bytes:
        raise Rejected("image.size", f"The image has {size} bytes, not {image.size_bytes}.")
    if digest.hexdigest() != image.sha256:
        raise Rejected("image.checksum", "The image is not the one that was declared.")
