"""What every driver of a hypervisor promises to the agent.

A driver method either returns after the change can be seen, or raises one of three errors sorted
by what may be concluded from it. A driver decides nothing: `agent.planning` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol
from uuid import UUID

from agent.observed import Absent, Observed, Present, Unknown
from agent.protocol.declarations import DropletDeclaration, ImageReference
from agent.protocol.observations import Inventory

__all__ = [
    "Absent",
    "DriverError",
    "Hypervisor",
    "HypervisorFacts",
    "ImageStream",
    "Observed",
    "OutcomeUnknown",
    "Present",
    "Refused",
    "Rejected",
    "SerialConsole",
    "Unknown",
]


class DriverError(Exception):
    """Base of what a driver may raise. `code` is permanent and goes over the wire."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class Rejected(DriverError):
    """Not tried: the request itself cannot be carried out (bad image, no room on the disk)."""


class Refused(DriverError):
    """The hypervisor said no, and nothing changed."""


class OutcomeUnknown(DriverError):
    """The call may have acted. Look before acting again."""


ImageStream = Callable[[ImageReference], AbstractContextManager[Iterator[bytes]]]
"""Opens the bytes of an image, from the installation's store or from its address."""


class SerialConsole(Protocol):
    """An open serial console: raw bytes both ways."""

    def read(self) -> bytes:
        """Return what the guest wrote, waiting for it; b"" when the console has closed."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class HypervisorFacts:
    """What the hypervisor can hold: cores, MiB, GiB; and how it runs guests, if at all.

    `accelerator` is "kvm", "tcg", or "" when no guest can run; `problem` then says why.
    """

    vcpus: int
    memory_mib: int
    disk_gib: int
    accelerator: str
    problem: str
    version: str
    details: dict[str, str]


class Hypervisor(Protocol):
    """A place where droplets live. All methods are synchronous and safe to call twice."""

    def facts(self) -> HypervisorFacts: ...

    def inventory(self) -> Inventory:
        """Return all guests in one look; not `complete` if any part could not be read."""

    def observe(self, resource_id: UUID) -> Observed: ...

    def has_image(self, image: ImageReference) -> bool: ...

    def fetch_image(self, image: ImageReference, stream: ImageStream) -> None:
        """Bring the image into the node's cache, verified by size and SHA-256."""

    def create_disk(self, droplet: DropletDeclaration) -> None:
        """Make the root disk of this rebuild number, and remove those of earlier ones."""

    def grow_disk(self, droplet: DropletDeclaration) -> None: ...

    def define(self, droplet: DropletDeclaration) -> None:
        """Write the definition (and the seed) under the declaration's generation; no start."""

    def start(self, droplet: DropletDeclaration) -> None:
        """Start the defined guest under the declaration's number of restarts."""

    def request_stop(self, resource_id: UUID) -> None:
        """Ask the guest to stop (ACPI). Returns at once; the stop is seen by observing."""

    def force_stop(self, resource_id: UUID) -> None: ...

    def remove(self, resource_id: UUID) -> None:
        """Remove definition, seed and disks of a stopped droplet."""

    def open_console(self, resource_id: UUID) -> SerialConsole: ...

    def watch(self, wake: Callable[[], None]) -> None:
        """Call `wake` from any thread whenever a guest changed; polling goes on beside it."""

    def console_log(self, resource_id: UUID) -> Path | None:
        """Return the file that holds what the guest has written to its serial console."""
