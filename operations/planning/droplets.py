"""Steps of a droplet's operations, and when what is seen has drifted from what is wanted. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType

from operations.planning.steps import StepKind


class DropletOperation(StrEnum):
    """What can be asked of a droplet."""

    CREATE = "droplet.create"
    START = "droplet.start"
    STOP = "droplet.stop"
    REBOOT = "droplet.reboot"
    RESIZE = "droplet.resize"
    RENAME = "droplet.rename"
    REBUILD = "droplet.rebuild"
    CHANGE = "droplet.change"
    REPAIR = "droplet.repair"
    DELETE = "droplet.delete"


_PLACE_AND_APPLY = (StepKind.RESERVE, StepKind.APPLY)
_REMOVE = (StepKind.APPLY, StepKind.RELEASE)

STEPS: Mapping[DropletOperation, tuple[StepKind, ...]] = MappingProxyType(
    {
        DropletOperation.CREATE: _PLACE_AND_APPLY,
        # Each of these may meet a droplet whose creation still waits for room, so each reserves:
        # for a placed droplet that holds its room, the reservation is found done.
        DropletOperation.START: _PLACE_AND_APPLY,
        DropletOperation.STOP: _PLACE_AND_APPLY,
        DropletOperation.REBOOT: _PLACE_AND_APPLY,
        DropletOperation.RESIZE: _PLACE_AND_APPLY,
        DropletOperation.RENAME: _PLACE_AND_APPLY,
        DropletOperation.REBUILD: _PLACE_AND_APPLY,
        DropletOperation.CHANGE: _PLACE_AND_APPLY,
        DropletOperation.REPAIR: _PLACE_AND_APPLY,
        DropletOperation.DELETE: _REMOVE,
    }
)


@dataclass(frozen=True)
class Wanted:
    """What is declared of a droplet, as far as drift is concerned."""

    power: str
    generation: tuple[int, int]


@dataclass(frozen=True)
class Seen:
    """The newest observation of a placed droplet.

    `absent` is concluded only from a complete inventory that is newer than the placement.
    """

    absent: bool
    power: str
    ledger_generation: tuple[int, int]
    ledger_absent: bool


def find_drift(wanted: Wanted, seen: Seen | None) -> str | None:
    """Return in words how the node differs from the declaration, or None.

    Not having seen anything is not drift. A paused guest is left alone: the hypervisor paused it
    for a reason that starting it would hide.
    """
    if seen is None:
        return None
    if seen.absent:
        return "The node's complete inventory no longer lists the droplet."
    if seen.ledger_generation > (0, 0) and seen.ledger_absent:
        return "The node's ledger says the droplet should be absent."
    if seen.power == "paused":
        return None
    running = seen.power == "running"
    if running and wanted.power == "stopped":
        return "The guest runs on its node although it is declared stopped."
    if not running and seen.power and wanted.power == "running":
        return f"The guest is {seen.power} on its node although it is declared running."
    return None


FIRST_REPAIR_DELAY = timedelta(seconds=15)
LONGEST_REPAIR_DELAY = timedelta(hours=1)


def repair_due(last_finished: datetime | None, failures: int, *, now: datetime) -> bool:
    """Return whether a repair may be opened: at once after a success, ever later after failures."""
    if last_finished is None or failures == 0:
        return True
    doublings: int = min(failures - 1, 10)
    delay = min(FIRST_REPAIR_DELAY * (1 << doublings), LONGEST_REPAIR_DELAY)
    return now >= last_finished + delay
