"""The guests of this installation on this machine, asked from libvirt through virsh."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from infra.bootstrap.places import Places
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import Choices
from infra.bootstrap.systempackages import find_program

METADATA = "{urn:infra:droplet}"

GRACE_SECONDS = 20.0
"""How long a guest may take to power off by itself before it is ended."""

LOOK_AGAIN_SECONDS = 0.2
VIRSH_SECONDS = 30.0


@dataclass(frozen=True)
class Guest:
    """A running domain."""

    uuid: str
    name: str
    disks: tuple[str, ...]
    is_infra: bool


def virsh(uri: str, *words: str) -> str:
    """Return what virsh wrote; empty when it failed or libvirt does not answer."""
    program = find_program("virsh")
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [str(program), "--quiet", "-c", uri, *words],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=VIRSH_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return done.stdout if done.returncode == 0 else ""


def parse_guest(text: str) -> Guest | None:
    """Return the guest that a domain's XML describes; None when it cannot be read (pure)."""
    try:
        domain = ElementTree.fromstring(text)  # noqa: S314 - libvirt's own answer
    except ElementTree.ParseError:
        return None
    metadata = domain.find("metadata")
    sources = [disk.find("source") for disk in domain.iterfind("devices/disk")]
    return Guest(
        uuid=domain.findtext("uuid", ""),
        name=domain.findtext("name", ""),
        disks=tuple(source.get("file", "") for source in sources if source is not None),
        is_infra=any(child.tag.startswith(METADATA) for child in metadata or ()),
    )


def running_guests(places: Places, uri: str) -> list[Guest]:
    """Return the running guests whose disks lie in the installation's folder."""
    uuids = virsh(uri, "list", "--uuid").split()
    read = [parse_guest(virsh(uri, "dumpxml", uuid)) for uuid in uuids]
    return [guest for guest in read if guest is not None and belongs(guest, places)]


def belongs(guest: Guest, places: Places) -> bool:
    """Return whether an installation made the guest: by its mark, and by where its disks are."""
    inside = f"{places.data}/"
    return guest.is_infra and any(disk.startswith(inside) for disk in guest.disks)


def stop_guests(places: Places, choices: Choices, progress: Progress) -> None:
    """Power the guests off, and end those that do not in time. The next `up` starts them again."""
    uri = choices.libvirt_uri
    guests = running_guests(places, uri) if uri else []
    if not guests:
        progress.say("Guests: none runs")
        return
    with progress.step(f"{len(guests)} guests") as outcome:
        for guest in guests:
            virsh(uri, "shutdown", guest.uuid)
        forced = _still_running(places, uri, guests)
        for guest in forced:
            virsh(uri, "destroy", guest.uuid)
        outcome.text = f"stopped, {len(forced)} of them by force" if forced else "stopped"


def _still_running(places: Places, uri: str, guests: Sequence[Guest]) -> list[Guest]:
    deadline = time.monotonic() + GRACE_SECONDS
    left = list(guests)
    while left and time.monotonic() < deadline:
        signal.sigtimedwait((), LOOK_AGAIN_SECONDS)
        left = running_guests(places, uri)
    return left
