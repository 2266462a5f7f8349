"""What a node sees of itself. Absence is said only by a list that is marked complete."""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from pydantic import Field

from agent.protocol.values import Generation, WireValue


class GuestPower(StrEnum):
    """What the hypervisor says of a guest."""

    RUNNING = "running"
    STOPPED = "stopped"
    PAUSED = "paused"
    CRASHED = "crashed"


class DropletObservation(WireValue):
    """One droplet of this installation as it is on the node now.

    `generation` is the one its definition was written under, `restarts` the one its running guest
    was started under (None while it does not run), `rebuilds` the one its disk was made under.
    """

    resource_id: UUID
    generation: Generation
    power: GuestPower
    vcpus: int
    memory_mib: int
    disk_gib: int
    restarts: int | None = None
    rebuilds: int = 0
    image_sha256: str = ""
    addresses: tuple[str, ...] = ()


class FoundGuest(WireValue):
    """A guest on the node that this installation did not declare. Listed, never touched."""

    name: str
    native_id: str
    power: GuestPower
    vcpus: int
    memory_mib: int
    installation_id: UUID | None = None
    resource_id: UUID | None = None


class Inventory(WireValue):
    """What was seen in one look. When not `complete`, what is missing is unknown, not absent."""

    complete: bool
    droplets: tuple[DropletObservation, ...] = ()
    found: tuple[FoundGuest, ...] = ()
    problem: str = ""


class NodeFacts(WireValue):
    """What a node is, told by its agent: sizes in MiB and GiB, time as the agent's own clock.

    `capabilities` names what it can do now, e.g. {"compute": "tcg"}; a node whose probe could
    boot nothing has no `compute`, and `problems` says why.
    """

    agent_version: str
    address: str
    vcpus: int
    memory_mib: int
    disk_gib: int
    capabilities: dict[str, str] = Field(default_factory=dict)
    problems: dict[str, str] = Field(default_factory=dict)
    details: dict[str, str] = Field(default_factory=dict)
    clock: float = 0.0
