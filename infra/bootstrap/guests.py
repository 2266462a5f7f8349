"""The guests of this installation on this machine, asked from libvirt through virsh."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from infra.bootstrap.progress import Progress
from infra.bootstrap.record import Choices
from infra.bootstrap.systempackages import find_program

MARK = "{urn:infra:droplet}droplet"

GRACE_SECONDS = 20.0
"""How long a guest may take to power off by itself before it is ended."""

LOOK_AGAIN_SECONDS = 0.2
VIRSH_SECONDS = 30.0


@dataclass(frozen=True)
class Guest:
    """A running domain; `installation` is the id in our mark on it, empty without one."""

    uuid: str
    name: str
    installation: str


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
    mark = domain.find(f"metadata/{MARK}")
    return Guest(
        uuid=domain.findtext("uuid", ""),
        name=domain.findtext("name", ""),
        installation="" if mark is None else mark.get("installation", ""),
    )


def running_guests(choices: Choices) -> list[Guest]:
    """Return the running guests that carry the installation's mark."""
    if not (choices.libvirt_uri and choices.installation_id):
        return []
    uuids = virsh(choices.libvirt_uri, "list", "--uuid").split()
    read = [parse_guest(virsh(choices.libvirt_uri, "dumpxml", uuid)) for uuid in uuids]
    return [g for g in read if g is not None and g.installation == choices.installation_id]


def stop_guests(choices: Choices, progress: Progress) -> None:
    """Power the guests off, and end those that do not in time. The next `up` starts them again."""
    uri = choices.libvirt_uri
    guests = running_guests(choices)
    if not guests:
        progress.say("Guests: none runs")
        return
    with progress.step(f"Guests ({len(guests)})") as outcome:
        for guest in guests:
            virsh(uri, "shutdown", guest.uuid)
        forced = _still_running(choices, guests)
        for guest in forced:
            virsh(uri, "destroy", guest.uuid)
        outcome.text = f"stopped, {len(forced)} of them by force" if forced else "stopped"


def _still_running(choices: Choices, guests: Sequence[Guest]) -> list[Guest]:
    deadline = time.monotonic() + GRACE_SECONDS
    left = list(guests)
    while left and time.monotonic() < deadline:
        signal.sigtimedwait((), LOOK_AGAIN_SECONDS)
        left = running_guests(choices)
    return left
