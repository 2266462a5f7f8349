"""Which droplets deserve a closer look, from one look at all of them. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from agent.observed import Present
from agent.planning.droplets import plan
from agent.protocol.declarations import AbsentDeclaration, Declaration
from agent.protocol.observations import DropletObservation, Inventory


@dataclass(frozen=True)
class Held:
    """What the ledger holds, as far as a survey needs it.

    `settled`: the node matched when it was looked at last, and no step is open.
    """

    declaration: Declaration
    settled: bool


def find_suspects(held: Mapping[UUID, Held], inventory: Inventory) -> frozenset[UUID]:
    """Return what is not settled or no longer matches its declaration.

    Nothing is concluded from what an incomplete inventory leaves out.
    """
    seen = {droplet.resource_id: droplet for droplet in inventory.droplets}
    return frozenset(
        key
        for key, entry in held.items()
        if not entry.settled
        or (key in seen and not _matches(entry, seen[key]))
        or (key not in seen and inventory.complete and not _wants_absence(entry))
    )


def find_changed(
    inventory: Inventory, before: Mapping[UUID, DropletObservation]
) -> frozenset[UUID]:
    """Return the droplets that look other than before, came, or (if complete) went."""
    seen = {droplet.resource_id: droplet for droplet in inventory.droplets}
    changed = {key for key, droplet in seen.items() if before.get(key) != droplet}
    gone = before.keys() - seen.keys() if inventory.complete else set()
    return frozenset(changed | gone)


def _wants_absence(entry: Held) -> bool:
    return isinstance(entry.declaration, AbsentDeclaration)


def _matches(entry: Held, droplet: DropletObservation) -> bool:
    looked = Present(droplet, defined=True, disk=True)
    return plan(entry.declaration, looked, image_ready=True, stop=None).converged
