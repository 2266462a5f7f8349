"""Parts that several documents share."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from inventory.capacity import Amount
from inventory.models import Node, Owner, Resource, Zone
from inventory.specs.base import Text

Labels = dict[str, str]
Name = Annotated[Text, Field(min_length=1, max_length=400)]
"""A name before it is normalised and checked by the rules for names."""

Key = Annotated[Text, Field(min_length=1, max_length=400)]
"""A name or an id of something else."""


class Shape(BaseModel):
    """Base of what is answered."""

    model_config = ConfigDict(frozen=True)


class Body(BaseModel):
    """Base of what is taken: an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Ref(Shape):
    """A reference: id and name of something else."""

    id: UUID
    name: str


class ResourceRef(Ref):
    """A reference to a resource."""

    public_id: int
    kind: str


class AmountShape(Shape):
    """So much compute."""

    vcpus: int
    memory_mib: int
    disk_gib: int


Item = TypeVar("Item")


class Listing(Shape, Generic[Item]):
    """A page of a list. `next_cursor` is empty at the end; `count` only when asked for."""

    items: list[Item]
    next_cursor: str
    count: int | None = None


def ref(row: Node | Owner | Zone) -> Ref:
    """Return a reference to the row."""
    return Ref(id=row.pk, name=row.name)


def zone_ref(row: Zone | None) -> Ref | None:
    """Return a reference to the zone, None for none."""
    return Ref(id=row.pk, name=row.name) if row is not None else None


def resource_ref(row: Resource) -> ResourceRef:
    """Return a reference to the resource."""
    return ResourceRef(id=row.pk, public_id=row.public_id, name=row.name, kind=row.kind)


def amount(of: Amount) -> AmountShape:
    """Return the amount as a document."""
    return AmountShape(vcpus=of.vcpus, memory_mib=of.memory_mib, disk_gib=of.disk_gib)
