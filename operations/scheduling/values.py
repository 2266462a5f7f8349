"""What placement is decided from and what it answers. Frozen values; no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from uuid import UUID

from inventory.capacity import Amount


class Reason(StrEnum):
    """Why a node was passed over."""

    LIFECYCLE = "lifecycle"
    UNREACHABLE = "unreachable"
    NOT_TOLD = "not_told"
    NO_COMPUTE = "no_compute"
    ZONE = "zone"
    VCPUS = "vcpus"
    MEMORY = "memory"
    DISK = "disk"
    AFFINITY = "affinity"
    ANTI_AFFINITY = "anti_affinity"


REASON_TEXT: Mapping[Reason, str] = {
    Reason.LIFECYCLE: "not ready for new work (joining, draining or leaving)",
    Reason.UNREACHABLE: "not heard from",
    Reason.NOT_TOLD: "yet to tell whether it can run guests",
    Reason.NO_COMPUTE: "cannot run guests",
    Reason.ZONE: "outside the zone",
    Reason.VCPUS: "too few vCPUs left",
    Reason.MEMORY: "too little memory left",
    Reason.DISK: "too little disk left",
    Reason.AFFINITY: "not beside the droplets it must stand with",
    Reason.ANTI_AFFINITY: "beside droplets it must stand apart from",
}


@dataclass(frozen=True)
class NodeFacts:
    """A node as placement sees it. `room` is what may still be promised, over-commit included.

    `compute` is None until the node's agent has told what it found by trying.
    """

    id: UUID
    name: str
    zone_path: tuple[UUID, ...]
    placeable: bool
    reachable: bool
    compute: bool | None
    room: Amount
    capacity: Amount
    neighbours: tuple[frozenset[tuple[str, str]], ...] = ()
    zone_neighbours: tuple[frozenset[tuple[str, str]], ...] = ()


@dataclass(frozen=True)
class Rule:
    """One affinity rule: together with, or apart from, droplets that carry all the labels."""

    together: bool
    by_zone: bool
    labels: frozenset[tuple[str, str]]


@dataclass(frozen=True)
class PlacementRequest:
    """What is to be placed. `zone_id` None means anywhere."""

    amount: Amount
    zone_id: UUID | None = None
    rules: tuple[Rule, ...] = ()
    own_labels: frozenset[tuple[str, str]] = frozenset()


@dataclass(frozen=True)
class Placed:
    """The node to claim first, the others in the order they would be tried, and why."""

    node_id: UUID
    others: tuple[UUID, ...]
    refused: Mapping[Reason, int] = field(default_factory=dict)
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NoRoom:
    """It fits nowhere now; how many nodes were passed over for which first reason."""

    refused: Mapping[Reason, int]
    considered: int

    def __str__(self) -> str:
        if not self.considered:
            return "There is no node yet. Add one with `infra node add`."
        parts = [f"{count} {REASON_TEXT[reason]}" for reason, count in sorted(self.refused.items())]
        return f"None of {self.considered} nodes has room: {'; '.join(parts)}."
