"""Zones: the tree, one zone with what stands in it, and drawing, changing and deleting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from infra.console.context import frame_of
from infra.console.crumbs import Crumb, trail
from infra.console.doors import PageRequest, call_of, page
from infra.console.inputs import labels_of, labels_text, values_of
from infra.console.refusals import refusal_of
from inventory.access import access_zone, check_may_administer
from inventory.errors import InfraError
from inventory.models import Zone
from inventory.reads.keyset import Order
from inventory.reads.nodes import NodeFilter, list_nodes
from inventory.reads.resources import activity_of
from inventory.reads.zones import ZoneRow, list_zone_rows, within
from operations.intents.zones import change_zone, create_zone, delete_zone

NODES_SHOWN = 200


@page
def zone_list(request: PageRequest) -> HttpResponse:
    """Show the tree."""
    context = {
        "rows": list_zone_rows(request.actor),
        "may_administer": request.actor.may_administer,
    }
    part = "console/zones/rows.html" if request.htmx else "console/zones/list.html"
    return render(request, part, context)


@page
def zone_detail(request: PageRequest, key: str) -> HttpResponse:
    """Show one zone: the sums, the zones in it, the nodes in it."""
    zone = access_zone(request.actor, key)
    rows = list_zone_rows(request.actor)
    own = next(row for row in rows if row.zone.pk == zone.pk)
    inside = within(zone.pk, frame_of(request).zones)
    nodes = list_nodes(NodeFilter(zone_ids=inside), order=Order("name"), after="", size=NODES_SHOWN)
    context = {
        "crumbs": _trail(zone, rows),
        "zone": zone,
        "row": own,
        "children": [
            replace(row, depth=row.depth - own.depth - 1)
            for row in rows
            if row.zone.pk in inside and row.zone.pk != zone.pk
        ],
        "nodes": nodes.rows,
        "activity": activity_of(zone.pk),
        "may_administer": request.actor.may_administer,
    }
    part = "console/zones/part.html" if request.htmx else "console/zones/detail.html"
    return render(request, part, context)


def _trail(zone: Zone, rows: Sequence[ZoneRow]) -> tuple[Crumb, ...]:
    by_id: dict[UUID | None, Zone] = {row.zone.pk: row.zone for row in rows}
    above: list[Crumb] = []
    place = by_id.get(zone.parent_id)
    while place is not None:
        above.insert(0, Crumb(place.name, f"/zones/{place.pk}/"))
        place = by_id.get(place.parent_id)
    return (*trail(("Zones", "zones")), *above, Crumb(zone.name))


@page
def zone_create(request: PageRequest) -> HttpResponse:
    """Draw a zone."""
    check_may_administer(request.actor, "draw", "a zone")
    values = {"parent": request.GET.get("parent", "")}
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            zone = create_zone(
                call_of(request),
                name=values.get("name", ""),
                parent=values.get("parent") or None,
                kind_label=values.get("kind_label", ""),
                jurisdiction=values.get("jurisdiction", ""),
                labels=labels_of(values.get("labels", "")),
            )
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, f"Zone {zone.name} is drawn.")
            return redirect("console:zone", zone.name)
    context = {
        "crumbs": trail(("Zones", "zones"), "Draw a zone"),
        "title": "Draw a zone",
        "save": "Draw the zone",
        "back": "/zones/",
        "values": values,
        "refusal": refusal,
        "zones": frame_of(request).zones,
    }
    return render(request, "console/zones/form.html", context)


@page
def zone_edit(request: PageRequest, key: str) -> HttpResponse:
    """Change a zone's facts, or put it elsewhere in the tree."""
    zone = access_zone(request.actor, key)
    check_may_administer(request.actor, "change", f"zone {zone.name}")
    values = {
        "name": zone.name,
        "parent": str(zone.parent_id or ""),
        "kind_label": zone.kind_label,
        "jurisdiction": zone.jurisdiction,
        "labels": labels_text(zone.labels),
    }
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            zone = change_zone(
                call_of(request),
                zone.pk,
                name=values.get("name", ""),
                parent=values.get("parent") or None,
                to_root=not values.get("parent"),
                kind_label=values.get("kind_label", ""),
                jurisdiction=values.get("jurisdiction", ""),
                labels=labels_of(values.get("labels", "")),
            )
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, f"Zone {zone.name} is changed.")
            return redirect("console:zone", zone.name)
    context = {
        "crumbs": trail(("Zones", "zones"), f"Edit {zone.name}"),
        "title": f"Edit {zone.name}",
        "save": "Save",
        "back": f"/zones/{zone.pk}/",
        "values": values,
        "refusal": refusal,
        "zones": [choice for choice in frame_of(request).zones if choice.id != zone.pk],
    }
    return render(request, "console/zones/form.html", context)


@require_POST
@page
def zone_delete(request: PageRequest, key: str) -> HttpResponse:
    """Delete an empty zone."""
    try:
        delete_zone(call_of(request), key, confirm_name=request.POST.get("confirm_name", ""))
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:zone", key)
    messages.success(request, "The zone is deleted.")
    return redirect("console:zones")
