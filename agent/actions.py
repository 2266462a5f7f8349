"""What an agent can do to its node, as data. `agent.apply` carries it out, one at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

from agent.protocol.declarations import DropletDeclaration, ImageReference


@dataclass(frozen=True)
class FetchImage:
    """Bring an image into the node's cache."""

    code: ClassVar[str] = "fetch_image"
    doing: ClassVar[str] = "Fetching the image"
    image: ImageReference


@dataclass(frozen=True)
class CreateDisk:
    """Make the root disk of the declared number of rebuilds."""

    code: ClassVar[str] = "create_disk"
    doing: ClassVar[str] = "Making the disk"
    droplet: DropletDeclaration


@dataclass(frozen=True)
class GrowDisk:
    """Make the root disk as large as declared; it never shrinks."""

    code: ClassVar[str] = "grow_disk"
    doing: ClassVar[str] = "Growing the disk"
    droplet: DropletDeclaration


@dataclass(frozen=True)
class Define:
    """Write the definition and the seed."""

    code: ClassVar[str] = "define"
    doing: ClassVar[str] = "Writing the definition"
    droplet: DropletDeclaration


@dataclass(frozen=True)
class Start:
    """Start the guest."""

    code: ClassVar[str] = "start"
    doing: ClassVar[str] = "Starting the guest"
    droplet: DropletDeclaration


@dataclass(frozen=True)
class RequestStop:
    """Ask the guest to stop by itself."""

    code: ClassVar[str] = "request_stop"
    doing: ClassVar[str] = "Asking the guest to stop"
    resource_id: UUID


@dataclass(frozen=True)
class ForceStop:
    """Cut the guest off."""

    code: ClassVar[str] = "force_stop"
    doing: ClassVar[str] = "Cutting the guest off"
    resource_id: UUID


@dataclass(frozen=True)
class Remove:
    """Remove the definition, the seed and the disks of a guest that does not run."""

    code: ClassVar[str] = "remove"
    doing: ClassVar[str] = "Removing the droplet"
    resource_id: UUID


Action = FetchImage | CreateDisk | GrowDisk | Define | Start | RequestStop | ForceStop | Remove
