"""What the control plane wants of a node, one value per resource."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field

from agent.protocol.values import Generation, WireValue


class Power(StrEnum):
    """The power state a person may wish for."""

    RUNNING = "running"
    STOPPED = "stopped"


class ImageFormat(StrEnum):
    """How the bytes of an image are to be read; never guessed from the bytes themselves."""

    RAW = "raw"
    QCOW2 = "qcow2"


class ImageReference(WireValue):
    """The image a disk starts from, named by its content.

    `url` is None when the installation's own store serves it (at `/v1/images/<sha256>` of the
    agent edge); sizes are in bytes.
    """

    resource_id: UUID
    sha256: str = Field(pattern=r"^[0-9a-f]{64}$")
    format: ImageFormat
    size_bytes: int = Field(gt=0)
    url: str | None = None


class StopPolicy(WireValue):
    """How a guest is stopped: asked first, then, only if `force`, cut off after the grace."""

    grace_seconds: int = Field(default=60, ge=0, le=3600)
    force: bool = False


class DropletDeclaration(WireValue):
    """A droplet as it should be on the node that receives this.

    `restarts` and `rebuilds` only grow: a guest that runs was started under a number of restarts
    and its disk was made under a number of rebuilds, so both wishes are states that can be seen,
    not commands that can be lost or doubled.
    """

    kind: Literal["droplet"] = "droplet"
    resource_id: UUID
    generation: Generation
    name: str
    hostname: str
    vcpus: int = Field(ge=1)
    memory_mib: int = Field(ge=1)
    disk_gib: int = Field(ge=1)
    image: ImageReference
    power: Power
    stop: StopPolicy = StopPolicy()
    restarts: int = Field(default=0, ge=0)
    rebuilds: int = Field(default=0, ge=0)
    user_data: str = ""
    ssh_keys: tuple[str, ...] = ()


class AbsentDeclaration(WireValue):
    """The resource must not exist on the node. Kept in the ledger for ever, as a tombstone."""

    kind: Literal["absent"] = "absent"
    resource_id: UUID
    generation: Generation
    resource_kind: str
    stop: StopPolicy = StopPolicy(grace_seconds=0, force=True)


Declaration = Annotated[DropletDeclaration | AbsentDeclaration, Field(discriminator="kind")]
