"""Images, keys and what all resources share: lists, relations, activity, search."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q

from inventory.access import Actor, as_uuid, visible_found, visible_resources
from inventory.models import (
    AuditEvent,
    Dependency,
    FoundObject,
    Node,
    Placement,
    Resource,
    ResourceObservation,
    Zone,
)
from inventory.reads.keyset import Order, Page, take_page

MAX_BIGINT_DIGITS = 18


@dataclass(frozen=True, slots=True)
class ResourceFilter:
    """What a list of one kind is narrowed to."""

    text: str = ""
    owner_id: UUID | None = None
    zone_ids: Collection[UUID] | None = None


def list_resources(
    actor: Actor, kind: str, wanted: ResourceFilter, *, order: Order, after: str, size: int
) -> Page[Resource]:
    """Return a page of images or keys with their typed rows. One query."""
    rows = visible_resources(actor, kind).select_related("owner", "zone", kind)
    if wanted.text:
        rows = rows.filter(name__icontains=wanted.text)
    if wanted.owner_id is not None:
        rows = rows.filter(owner_id=wanted.owner_id)
    if wanted.zone_ids is not None:
        rows = rows.filter(Q(zone_id__in=list(wanted.zone_ids)) | Q(zone__isnull=True))
    return take_page(rows, order=order, after=after, size=size)


def choices_of(actor: Actor, kind: str, *, limit: int = 200) -> Sequence[Resource]:
    """Return resources of a kind for a menu, by name. One query."""
    rows = visible_resources(actor, kind).filter(absent=False).select_related("owner", kind)
    return list(rows.order_by("name", "pk")[:limit])


@dataclass(frozen=True, slots=True)
class Relations:
    """What a resource needs, and what needs it."""

    needs: Sequence[Dependency]
    needed_by: Sequence[Dependency]


def relations_of(resource: Resource, *, limit: int = 100) -> Relations:
    """Return the relations of a resource. Two queries."""
    needs = Dependency.objects.filter(dependent=resource).select_related("node", "resource")
    needed = Dependency.objects.filter(
        resource=resource, dependent__deleted_at__isnull=True
    ).select_related("dependent")
    return Relations(
        list(needs.order_by("relation", "pk")[:limit]),
        list(needed.order_by("dependent__name", "pk")[:limit]),
    )


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a document, before and after."""

    field: str
    before: object
    after: object


@dataclass(frozen=True, slots=True)
class Activity:
    """One line of the audit journal with what it changed."""

    event: AuditEvent
    changes: Sequence[FieldChange]


def activity_of(object_id: UUID, *, limit: int = 25) -> Sequence[Activity]:
    """Return who did what to an object, newest first. One query."""
    events = AuditEvent.objects.filter(object_id=object_id).order_by("-pk")[:limit]
    return [Activity(event, differences(event.before, event.after)) for event in events]


def differences(before: object, after: object, path: str = "") -> Sequence[FieldChange]:
    """Return the fields in which two documents differ; none when one of them is missing. Pure."""
    if not isinstance(before, Mapping) or not isinstance(after, Mapping):
        return ()
    found: list[FieldChange] = []
    for key in sorted({*before, *after}):
        old, new = before.get(key), after.get(key)
        name = f"{path}{key}"
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found.extend(differences(old, new, f"{name}."))
        elif old != new and key in before and key in after:
            found.append(FieldChange(name, old, new))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class PlacementHistory:
    """Where a droplet is and was."""

    active: Placement | None
    past: Sequence[Placement]


def placements_of(resource: Resource, *, limit: int = 10) -> PlacementHistory:
    """Return the placements of a droplet, newest first. One query."""
    rows = list(
        Placement.objects.filter(resource=resource).select_related("node").order_by("-pk")[:limit]
    )
    active = next((row for row in rows if row.released_at is None), None)
    return PlacementHistory(active, [row for row in rows if row.released_at is not None])


def list_found(
    actor: Actor, *, text: str, zone_ids: Collection[UUID] | None, after: str, size: int
) -> Page[FoundObject]:
    """Return a page of guests that this inventory did not declare. One query."""
    rows = visible_found(actor)
    if text:
        rows = rows.filter(name__icontains=text)
    if zone_ids is not None:
        rows = rows.filter(node__zone_id__in=list(zone_ids))
    return take_page(rows, order=Order("name"), after=after, size=size)


@dataclass(frozen=True, slots=True)
class Hits:
    """What a search found, per noun."""

    resources: Sequence[Resource]
    nodes: Sequence[Node]
    zones: Sequence[Zone]

    def __bool__(self) -> bool:
        return bool(self.resources or self.nodes or self.zones)


def search(actor: Actor, text: str, *, limit: int) -> Hits:
    """Return what matches by name, id, address, digest or label. Four queries."""
    wanted = text.strip()[:200]
    if not wanted:
        return Hits((), (), ())
    resources = visible_resources(actor).filter(_resource_matches(wanted))
    nodes = Node.objects.exclude(lifecycle="left").filter(_named_or_addressed(wanted))
    zones = Zone.objects.filter(_identified(wanted) | Q(name__icontains=wanted))
    return Hits(
        list(resources.select_related("owner", "zone").order_by("kind", "name", "pk")[:limit]),
        list(nodes.select_related("zone").order_by("name", "pk")[:limit]),
        list(zones.select_related("parent").order_by("name", "pk")[:limit]),
    )


def _identified(wanted: str) -> Q:
    identifier = as_uuid(wanted)
    return Q(pk=identifier) if identifier else Q(pk__isnull=True)


def _named_or_addressed(wanted: str) -> Q:
    return (
        _identified(wanted) | Q(name__icontains=wanted) | Q(address__startswith=wanted)
    ) | _labelled(wanted)


def _labelled(wanted: str) -> Q:
    key, equals, value = wanted.partition("=")
    return Q(labels__contains={key: value}) if equals and key else Q(labels__has_key=wanted)


def _resource_matches(wanted: str) -> Q:
    matches = _identified(wanted) | Q(name__icontains=wanted) | _labelled(wanted)
    if wanted.isdecimal() and len(wanted) <= MAX_BIGINT_DIGITS:
        matches |= Q(public_id=int(wanted))
    if wanted.count(".") == 3 or ":" in wanted:  # noqa: PLR2004  an address, v4 or v6
        addressed = ResourceObservation.objects.filter(data__addresses__contains=[wanted])
        matches |= Q(pk__in=addressed.values("resource_id"))
    return matches | Q(image__sha256__startswith=wanted.lower()) | Q(sshkey__fingerprint=wanted)
