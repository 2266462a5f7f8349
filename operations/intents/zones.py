"""Intents of zones. They are facts: no agent acts on them, so they open no operation."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from django.db import IntegrityError, connection, transaction

from inventory.access import access_zone, check_may_administer
from inventory.errors import Conflict, invalid
from inventory.models import Resource, Zone
from inventory.specs.base import check_labels, check_name
from operations.audit import record_audit
from operations.intents.call import Call, check_revision, door
from operations.outbox import publish

_TREE_LOCK = 0x7A6F6E65
"""Advisory lock of the zone tree: two moves at once could together make a loop."""

MAX_DEPTH = 16
"""Deeper is a slip; each level costs a join in every question about the tree."""


def create_zone(
    call: Call,
    *,
    name: str,
    parent: UUID | str | None = None,
    kind_label: str = "",
    jurisdiction: str = "",
    labels: Mapping[str, str] | None = None,
) -> Zone:
    """Return a new zone. Raises Forbidden, Invalid, NotFound or Conflict."""
    check_may_administer(call.actor, "create a zone", name)
    zone = Zone(
        name=check_name(name),
        kind_label=_short(kind_label, "/kind_label"),
        jurisdiction=_short(jurisdiction, "/jurisdiction"),
        labels=check_labels(labels or {}),
    )
    with door(call):
        _lock_tree()
        zone.parent = access_zone(call.actor, parent) if parent is not None else None
        _check_tree(zone)
        _save(zone)
        _tell(call, "zone.create", zone, before=None)
    return zone


def change_zone(
    call: Call,
    key: UUID | str,
    *,
    name: str | None = None,
    parent: UUID | str | None = None,
    to_root: bool = False,
    kind_label: str | None = None,
    jurisdiction: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> Zone:
    """Change what is given; `to_root` takes the zone out of its parent."""
    with door(call):
        _lock_tree()
        found = access_zone(call.actor, key)
        check_may_administer(call.actor, "change zone", found.name)
        zone: Zone = Zone.objects.select_for_update(no_key=True, of=("self",)).get(pk=found.pk)
        check_revision(call, zone.revision)
        before = zone_document(zone)
        zone.name = check_name(name) if name is not None else zone.name
        if to_root:
            zone.parent = None
        elif parent is not None:
            zone.parent = access_zone(call.actor, parent)
        if kind_label is not None:
            zone.kind_label = _short(kind_label, "/kind_label")
        if jurisdiction is not None:
            zone.jurisdiction = _short(jurisdiction, "/jurisdiction")
        zone.labels = check_labels(labels) if labels is not None else zone.labels
        _check_tree(zone)
        zone.revision += 1
        _save(zone)
        _tell(call, "zone.change", zone, before=before)
    return zone


def delete_zone(call: Call, key: UUID | str, *, confirm_name: str) -> None:
    """Delete an empty zone. Raises Conflict that names what is still in it."""
    with door(call):
        _lock_tree()
        found = access_zone(call.actor, key)
        check_may_administer(call.actor, "delete zone", found.name)
        zone: Zone = Zone.objects.select_for_update(of=("self",)).get(pk=found.pk)
        if confirm_name != zone.name:
            raise invalid("/confirm_name", "confirm_name", "Repeat the zone's name exactly.")
        _check_empty(zone)
        before = zone_document(zone)
        Resource.objects.filter(zone=zone, deleted_at__isnull=False).update(zone=None)
        identifier = zone.pk
        zone.delete()
        zone.pk = identifier
        _tell(call, "zone.delete", zone, before=before)


def zone_document(zone: Zone) -> dict[str, object]:
    """Return the zone as one document, for audit."""
    return {
        "name": zone.name,
        "parent": str(zone.parent_id) if zone.parent_id else None,
        "kind_label": zone.kind_label,
        "jurisdiction": zone.jurisdiction,
        "labels": zone.labels,
    }


def _check_empty(zone: Zone) -> None:
    inside = [f"zone {child.name}" for child in zone.children.all()[:5]]
    inside += [f"node {node.name}" for node in zone.nodes.all()[:5]]
    inside += [
        f"{resource.kind} {resource.name}"
        for resource in zone.resources.filter(deleted_at__isnull=True)[:5]
    ]
    if inside:
        raise Conflict(
            "zone.not_empty",
            f"Zone {zone.name} still holds {', '.join(inside)}. Nothing changed; move or delete "
            "those first.",
        )


def _lock_tree() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_TREE_LOCK])


def _check_tree(zone: Zone) -> None:
    depth, above = 1, zone.parent
    while above is not None:
        if above.pk == zone.pk:
            raise invalid("/parent", "loop", "A zone cannot stand inside itself.")
        depth += 1
        if depth > MAX_DEPTH:
            raise invalid("/parent", "too_deep", f"Zones nest at most {MAX_DEPTH} deep.")
        above = above.parent


def _save(zone: Zone) -> None:
    try:
        with transaction.atomic():
            zone.save()
    except IntegrityError:
        raise Conflict(
            "zone.name_taken", f"There already is a zone named {zone.name}. Nothing changed."
        ) from None


def _short(text: str, pointer: str) -> str:
    if len(text) > 50:  # noqa: PLR2004  the column's length
        raise invalid(pointer, "too_long", "At most 50 characters.")
    return check_name(text, pointer=pointer) if text else ""


def _tell(call: Call, action: str, zone: Zone, *, before: dict[str, object] | None) -> None:
    record_audit(
        call,
        action,
        kind="zone",
        object_id=zone.pk,
        name=zone.name,
        before=before,
        after=None if action == "zone.delete" else zone_document(zone),
    )
    publish("zone", action.removeprefix("zone."), zone.pk, now=call.now)
