"""The guests of the fake hypervisor: files in a folder that outlive every process.

The functions that say "by hand" stand for what people and accidents do behind an agent's back.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from agent.drivers.base import Refused
from agent.protocol.observations import DropletObservation, FoundGuest, GuestPower
from agent.protocol.values import Generation

FOLDERS = ("guests", "foreign", "images", "consoles")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class Disk(_Value):
    """A root disk, and the generation it was made under."""

    rebuilds: int
    disk_gib: int
    image_sha256: str
    generation: Generation


class Definition(_Value):
    """What a start would start, and who wrote it."""

    installation_id: UUID
    node_id: UUID
    generation: Generation
    hostname: str
    vcpus: int
    memory_mib: int
    restarts: int
    rebuilds: int


class Running(_Value):
    """What runs. `stops_at` (epoch seconds) is set once its power button was pressed."""

    vcpus: int
    memory_mib: int
    restarts: int
    stops_at: float | None = None


class Guest(_Value):
    """One droplet on this hypervisor, whole or in part. `crashed` says how it went off."""

    resource_id: UUID
    definition: Definition | None = None
    disk: Disk | None = None
    running: Running | None = None
    crashed: bool = False


class Call(_Value):
    """One line of `calls.log`. `changed` is False when the state was already as asked."""

    call: str
    resource_id: UUID | None
    generation: Generation | None
    changed: bool
    at: float
    pid: int


class Capacity(_Value):
    """What the node says it can hold: cores, MiB, GiB."""

    vcpus: int = 16
    memory_mib: int = 32768
    disk_gib: int = 500
    accelerator: str = "tcg"
    problem: str = ""


def kill_guest(folder: Path, resource_id: UUID) -> None:
    """End the guest as `kill -9` of its emulator would."""
    with locked(folder):
        guest = read_guest(folder, resource_id)
        crashed = guest.crashed or guest.running is not None
        write_guest(folder, guest.model_copy(update={"running": None, "crashed": crashed}))


def start_guest(folder: Path, resource_id: UUID) -> None:
    """Start a defined guest behind the agent's back."""
    with locked(folder):
        write_guest(folder, started(folder, read_guest(folder, resource_id)))


def lose_guest(folder: Path, resource_id: UUID) -> None:
    """Remove the guest with its disk behind the agent's back."""
    with locked(folder):
        write_guest(folder, Guest(resource_id=resource_id))


def cut_power(folder: Path) -> None:
    """Stop every guest at once, as a power cut of the node would."""
    for path in sorted((folder / "guests").glob("*.json")):
        with locked(folder):
            guest = read_guest(folder, UUID(path.stem))
            write_guest(folder, guest.model_copy(update={"running": None, "crashed": False}))


def add_foreign_guest(folder: Path, guest: FoundGuest) -> None:
    """Put a guest there that nobody declared."""
    path = folder / "foreign" / f"{hashlib.sha256(guest.name.encode()).hexdigest()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, guest.model_dump_json())


def foreign_guests(folder: Path) -> tuple[FoundGuest, ...]:
    """Return the guests that nobody declared."""
    paths = sorted((folder / "foreign").glob("*.json"))
    return tuple(FoundGuest.model_validate_json(path.read_text()) for path in paths)


def runs(folder: Path, resource_id: UUID) -> bool:
    """Return whether the guest runs now."""
    with locked(folder):
        return read_guest(folder, resource_id).running is not None


def calls(folder: Path) -> tuple[Call, ...]:
    """Return what was done in this folder, oldest first: changes, and calls that found nothing."""
    try:
        lines = (folder / "calls.log").read_text().splitlines()
    except FileNotFoundError:
        return ()
    return tuple(Call.model_validate_json(line) for line in lines)


def started(folder: Path, guest: Guest) -> Guest:
    """Return the guest running as it is defined, and let it speak. `Refused` without definition."""
    if guest.definition is None:
        raise Refused("droplet.undefined", "The droplet has no definition.")
    with (folder / "consoles" / f"{guest.resource_id}.log").open("a") as log:
        log.write(f"HELLO {guest.definition.hostname}\r\n")
    running = Running(
        vcpus=guest.definition.vcpus,
        memory_mib=guest.definition.memory_mib,
        restarts=guest.definition.restarts,
    )
    return guest.model_copy(update={"running": running, "crashed": False})


def observation(guest: Guest) -> DropletObservation:
    """Return the guest as a real driver sees it: a running one with the sizes it runs with."""
    definition, disk, running = guest.definition, guest.disk, guest.running
    sizes = running or definition
    written = definition or disk
    return DropletObservation(
        resource_id=guest.resource_id,
        generation=written.generation if written else Generation(epoch=1, counter=1),
        power=_power(guest),
        vcpus=sizes.vcpus if sizes else 0,
        memory_mib=sizes.memory_mib if sizes else 0,
        disk_gib=disk.disk_gib if disk else 0,
        restarts=running.restarts if running else None,
        rebuilds=disk.rebuilds if disk else 0,
        image_sha256=disk.image_sha256 if disk else "",
    )


def found_guest(guest: Guest, definition: Definition) -> FoundGuest:
    """Return a guest of another installation or node as it is listed."""
    return FoundGuest(
        name=f"infra-{guest.resource_id}",
        native_id=str(guest.resource_id),
        power=_power(guest),
        vcpus=definition.vcpus,
        memory_mib=definition.memory_mib,
        installation_id=definition.installation_id,
        resource_id=guest.resource_id,
    )


def _power(guest: Guest) -> GuestPower:
    if guest.running is not None:
        return GuestPower.RUNNING
    return GuestPower.CRASHED if guest.crashed else GuestPower.STOPPED


def read_guest(folder: Path, resource_id: UUID) -> Guest:
    """Return the guest as it is now; an empty one when nothing of it is there."""
    try:
        guest = Guest.model_validate_json((folder / "guests" / f"{resource_id}.json").read_text())
    except FileNotFoundError:
        return Guest(resource_id=resource_id)
    running = guest.running
    if running is not None and running.stops_at is not None and running.stops_at <= time.time():
        return guest.model_copy(update={"running": None})
    return guest


def write_guest(folder: Path, guest: Guest) -> None:
    """Keep the guest; one of which nothing is left loses its file."""
    path = folder / "guests" / f"{guest.resource_id}.json"
    if guest == Guest(resource_id=guest.resource_id):
        path.unlink(missing_ok=True)
    else:
        write_file(path, guest.model_dump_json())


def log_call(
    folder: Path, call: str, resource_id: UUID, generation: Generation | None, *, changed: bool
) -> None:
    """Append one line to `calls.log`."""
    line = Call(
        call=call,
        resource_id=resource_id,
        generation=generation,
        changed=changed,
        at=time.time(),
        pid=os.getpid(),
    )
    with (folder / "calls.log").open("a") as log:
        log.write(line.model_dump_json() + "\n")


def write_file(path: Path, text: str) -> None:
    """Write the file in one step."""
    fresh = path.with_name(f".{path.name}.new")
    fresh.write_text(text)
    fresh.replace(path)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes out of this folder for a moment."""
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
