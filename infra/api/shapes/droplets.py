"""Droplets as documents, and the bodies of what can be done to them."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from infra.api.shapes.base import Body, Key, Name, Ref, Shape, ref
from infra.api.shapes.resources import ResourceShape, resource_fields
from inventory.models import ResourceObservation
from inventory.reads.droplets import DropletRow
from inventory.specs.droplets import StopSpec
from inventory.standing import OpenChange


class ObservedShape(Shape):
    """What the droplet's node last showed of it; times are the control plane's own."""

    presence: str
    power: str
    addresses: list[str]
    generation: str
    seen_at: datetime
    changed_at: datetime


class OpenChangeShape(Shape):
    """The newest operation that has not ended."""

    kind: str
    state: str
    waiting_text: str


class DropletShape(ResourceShape):
    """A droplet: what is declared, where it is, what was seen, and how it stands in one word."""

    state: str
    why: str = Field(description="the sentence that goes with the state")
    node: Ref | None
    node_unreachable: bool
    hostname: str
    image: Ref
    observed: ObservedShape | None
    operation: OpenChangeShape | None


class StopBody(Body):
    """How to stop from now on; as declared when left out."""

    stop: StopSpec | None = None


class ResizeBody(Body):
    """Other sizes; what is left out stays. Disks only grow."""

    vcpus: int | None = None
    memory_mib: int | None = None
    disk_gib: int | None = None


class RenameBody(Body):
    """Another name."""

    name: Name


class RebuildBody(Body):
    """Another image, or the same one when left out."""

    image: Key | None = None


class EmptyBody(Body):
    """Nothing."""


def show_droplet(row: DropletRow, change: OpenChange | None) -> DropletShape:
    """Return a droplet as it stands, given its newest open operation."""
    stands = row.standing(change)
    droplet = row.resource.droplet
    return DropletShape.model_validate(
        {
            **resource_fields(row.resource),
            "state": stands.state,
            "why": stands.why,
            "node": ref(row.node) if row.node is not None else None,
            "node_unreachable": row.unreachable,
            "hostname": droplet.hostname,
            "image": {"id": droplet.image_id, "name": droplet.image.resource.name},
            "observed": _observed(row),
            "operation": OpenChangeShape(
                kind=change.kind, state=change.state, waiting_text=change.waiting_on
            )
            if change
            else None,
        }
    )


def _observed(row: DropletRow) -> ObservedShape | None:
    seen: ResourceObservation | None = row.observation
    if seen is None:
        return None
    return ObservedShape(
        presence=seen.presence,
        power=seen.power,
        addresses=list(row.addresses),
        generation=f"{seen.epoch}.{seen.generation}",
        seen_at=seen.seen_at,
        changed_at=seen.changed_at,
    )
