"""Values that both sides must read alike: numbers that only grow, and who is speaking."""

from __future__ import annotations

from functools import total_ordering
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

PROTOCOL_VERSION = 1
"""Raised when a message changes in a way an older reader would misread; additions need no raise."""


class WireValue(BaseModel):
    """Base of all wire values: frozen, and strict about what it knows but deaf to additions."""

    model_config = ConfigDict(frozen=True, extra="ignore")


@total_ordering
class Generation(WireValue):
    """The age of a declaration: (installation epoch, counter), compared in that order.

    A restored control plane counts again from an older number; its higher epoch keeps its
    declarations newer than all that the lost one ever sent.
    """

    epoch: int = Field(ge=1)
    counter: int = Field(ge=1)

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Generation):
            return NotImplemented
        return (self.epoch, self.counter) < (other.epoch, other.counter)

    def __str__(self) -> str:
        return f"{self.epoch}.{self.counter}"


class InstallationIdentity(WireValue):
    """The control plane that speaks: one id for life, an epoch and a token for each restore.

    Two control planes with the same epoch but another token are rivals; an agent obeys the one
    it met first and refuses the other.
    """

    id: UUID
    epoch: int = Field(ge=1)
    token: str = Field(min_length=16, max_length=64)


class Incarnation(WireValue):
    """One life of a node, from machine start to machine stop.

    `id` is random and kept in a folder that a machine start empties; `ordinal` comes from the
    agent's ledger and grows with each new life, so that two reports can be put in order.
    `boot_id` (kernel) and `init_started` (start time of PID 1 in clock ticks) travel along as
    evidence; neither proves a new life by itself.
    """

    id: UUID
    ordinal: int = Field(ge=1)
    boot_id: str
    init_started: int
