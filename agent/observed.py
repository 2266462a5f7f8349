"""What a look at one droplet can say. Not knowing is a value of its own."""

from __future__ import annotations

from dataclasses import dataclass

from agent.protocol.observations import DropletObservation


@dataclass(frozen=True)
class Unknown:
    """The hypervisor could not be asked; nothing may be concluded."""

    reason: str


@dataclass(frozen=True)
class Absent:
    """The hypervisor answered, and knows no such droplet; no disk of it is left either."""


@dataclass(frozen=True)
class Present:
    """The droplet as it is. `defined` is False when only its disk is there."""

    droplet: DropletObservation
    defined: bool
    disk: bool


Observed = Unknown | Absent | Present
