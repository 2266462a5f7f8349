"""Amounts of compute, and what a node can hold of them. Pure. vCPUs, MiB and GiB throughout."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal


@dataclass(frozen=True)
class Amount:
    """So many vCPUs, so much memory (MiB), so much disk (GiB)."""

    vcpus: int
    memory_mib: int
    disk_gib: int

    def __add__(self, other: Amount) -> Amount:
        return Amount(
            self.vcpus + other.vcpus,
            self.memory_mib + other.memory_mib,
            self.disk_gib + other.disk_gib,
        )

    def __sub__(self, other: Amount) -> Amount:
        return Amount(
            self.vcpus - other.vcpus,
            self.memory_mib - other.memory_mib,
            self.disk_gib - other.disk_gib,
        )

    def fits(self, room: Amount) -> bool:
        return (
            self.vcpus <= room.vcpus
            and self.memory_mib <= room.memory_mib
            and self.disk_gib <= room.disk_gib
        )


@dataclass(frozen=True)
class OverCommit:
    """How much more than is there may be promised: 1 means no more."""

    vcpus: Decimal
    memory: Decimal
    disk: Decimal


def allocatable(capacity: Amount, over_commit: OverCommit) -> Amount:
    """Return what may be promised in all, rounded down."""
    return Amount(
        int(capacity.vcpus * over_commit.vcpus),
        int(capacity.memory_mib * over_commit.memory),
        int(capacity.disk_gib * over_commit.disk),
    )
