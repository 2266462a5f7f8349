"""Droplets: the list with its exports, one droplet, and declaring one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from infra.console.comparisons import compare
from infra.console.context import frame_of, limits_of
from infra.console.crumbs import trail
from infra.console.declarations import declared, manifest_of, to_yaml
from infra.console.doors import PageRequest, call_of, page
from infra.console.droplet_forms import DEFAULTS, document_of, metadata_of, spec_of
from infra.console.exports import Record, csv_file, json_file
from infra.console.inputs import labels_of, values_of
from infra.console.listing import (
    PAGE_SIZE,
    Column,
    Filter,
    Option,
    heads,
    order_of,
    paging_of,
    text_of,
    with_parameters,
)
from infra.console.refusals import refusal_of
from inventory.access import access_resource
from inventory.errors import InfraError
from inventory.models import Kind, Resource
from inventory.reads.droplets import (
    SEEN,
    DropletFilter,
    DropletRow,
    droplet_row,
    list_droplets,
    read_droplet,
)
from inventory.reads.resources import activity_of, choices_of, placements_of, relations_of
from inventory.standing import Standing
from operations.intents.droplets import create_droplet
from operations.reads import open_changes, operations_of

SORTS = {
    "name": "name",
    "created": "created_at",
    "vcpus": "droplet__vcpus",
    "memory": "droplet__memory_mib",
    "owner": "owner__name",
}
COLUMNS = (
    Column("Name", "name"),
    Column("State"),
    Column("Node"),
    Column("Zone"),
    Column("vCPUs", "vcpus", "number"),
    Column("Memory", "memory", "number"),
    Column("Addresses"),
    Column("Image"),
    Column("Owner", "owner"),
    Column("Declared", "created"),
)
STATE_WORDS = {
    "running": "seen running",
    "stopped": "seen stopped",
    "waiting": "waiting for room",
    "differs": "differs",
    "unseen": "node unreachable",
    "deleting": "being deleted",
}
OPERATIONS_SHOWN = 10
EXPORT_PAGE = 500
EXPORT_MOST = 100_000
"""More rows than this are a job for the API, which pages."""

EXPORT_COLUMNS = (
    "id", "public_id", "name", "owner", "zone", "node", "state", "why", "power", "vcpus",
    "memory_mib", "disk_gib", "image", "addresses", "labels", "protected", "generation",
    "created_at",
)  # fmt: skip


def filter_of(request: PageRequest) -> DropletFilter:
    """Return what the address and the scope narrow the list to."""
    limits = limits_of(request)
    return DropletFilter(
        text=text_of(request, "q"),
        zone_ids=limits.zone_ids,
        owner_id=limits.owner_id,
        node=text_of(request, "node"),
        image=text_of(request, "image"),
        seen=text_of(request, "seen"),
        label=text_of(request, "label"),
    )


@page
def droplet_list(request: PageRequest) -> HttpResponse:
    """Show the droplets, only their living rows, or all that fit as a file."""
    wanted = filter_of(request)
    export = request.GET.get("export", "")
    if export in {"csv", "json"}:
        return _export(request, wanted, export)
    found = list_droplets(
        request.actor,
        wanted,
        order=order_of(request, SORTS, "name"),
        after=request.GET.get("after", ""),
        size=PAGE_SIZE,
    )
    context = {
        "rows": _with_standing(found.rows),
        "columns": list(heads(request, COLUMNS, "name")),
        "paging": paging_of(request, found),
        "text": wanted.text,
        "wanted": wanted,
        "filters": [_seen_filter(wanted)],
        "filtered": any((wanted.text, wanted.node, wanted.image, wanted.seen, wanted.label)),
        "csv_address": with_parameters(request, export="csv", after=""),
        "json_address": with_parameters(request, export="json", after=""),
    }
    part = "console/droplets/rows.html" if request.htmx else "console/droplets/list.html"
    return render(request, part, context)


def _with_standing(resources: Sequence[Resource]) -> list[tuple[DropletRow, Standing]]:
    rows = [droplet_row(resource) for resource in resources]
    changes = open_changes([row.resource.pk for row in rows])
    return [(row, row.standing(changes.get(row.resource.pk))) for row in rows]


def _seen_filter(wanted: DropletFilter) -> Filter:
    options = [Option(name, STATE_WORDS[name]) for name in SEEN]
    return Filter("seen", "State", wanted.seen, options)


def _export(request: PageRequest, wanted: DropletFilter, form: str) -> HttpResponse:
    records = _records(request, wanted)
    if form == "csv":
        return csv_file("droplets", EXPORT_COLUMNS, records)
    return json_file("droplets", records)


def _records(request: PageRequest, wanted: DropletFilter) -> Iterator[Record]:
    order = order_of(request, SORTS, "name")
    after, sent = "", 0
    while sent < EXPORT_MOST:
        found = list_droplets(request.actor, wanted, order=order, after=after, size=EXPORT_PAGE)
        for row, standing in _with_standing(found.rows):
            resource = row.resource
            yield {
                "id": str(resource.pk),
                "public_id": resource.public_id,
                "name": resource.name,
                "owner": resource.owner.name,
                "zone": resource.zone.name if resource.zone else "",
                "node": row.node.name if row.node else "",
                "state": str(standing.state),
                "why": standing.why,
                "power": resource.droplet.power,
                "vcpus": resource.droplet.vcpus,
                "memory_mib": resource.droplet.memory_mib,
                "disk_gib": resource.droplet.disk_gib,
                "image": resource.droplet.image.resource.name,
                "addresses": list(row.addresses),
                "labels": resource.labels,
                "protected": resource.protected,
                "generation": f"{resource.epoch}.{resource.generation}",
                "created_at": resource.created_at.isoformat(),
            }
        sent += len(found.rows)
        after = found.next_cursor
        if not after:
            return


@page
def droplet_detail(request: PageRequest, key: UUID) -> HttpResponse:
    """Show one droplet: wanted beside seen, where and why, what hangs on it, what happened."""
    return show_droplet(request, access_resource(request.actor, key, kind=Kind.DROPLET))


def show_droplet(
    request: PageRequest, found: Resource, *, more: dict[str, object] | None = None
) -> HttpResponse:
    """Return the page of one droplet; `more` carries a refusal and what was typed."""
    row = read_droplet(found.pk)
    resource = row.resource
    change = open_changes([resource.pk]).get(resource.pk)
    gone = resource.deleted_at is not None
    context = {
        "crumbs": trail(("Droplets", "droplets"), resource.name),
        "resource": resource,
        "droplet": resource.droplet,
        "row": row,
        "standing": row.standing(change),
        "change": change,
        "lines": compare(resource, row.observation),
        "history": placements_of(resource),
        "relations": relations_of(resource),
        "operations": operations_of(request.actor, resource.pk, limit=OPERATIONS_SHOWN),
        "activity": activity_of(resource.pk),
        "yaml": to_yaml(manifest_of(resource)),
        "images": choices_of(request.actor, Kind.IMAGE),
        "also_lost": _also_lost(row),
        "may_change": request.actor.may_change(resource.owner_id)
        and not resource.absent
        and not gone,
        **(more or {}),
    }
    part = "console/droplets/part.html" if request.htmx else "console/droplets/detail.html"
    return render(request, part, context)


def _also_lost(row: DropletRow) -> list[str]:
    """Return what a deletion takes along."""
    lost = [f"its disk of {row.resource.droplet.disk_gib} GiB, with everything on it"]
    if row.node is not None:
        lost.append(f"its room on {row.node.name}, which the next droplet may take")
    if row.addresses:
        lost.append(f"its address {', '.join(row.addresses)}")
    return lost


@page
def droplet_create(request: PageRequest) -> HttpResponse:
    """Declare a droplet."""
    values: dict[str, str] = {**DEFAULTS, "zone": str(frame_of(request).scope.zone_id or "")}
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            spec = spec_of(request.POST)
            operation = create_droplet(call_of(request), metadata_of(request.POST), spec)
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, "Declared. This is what becomes of it.")
            return redirect("console:operation", operation.public_id)
    images = choices_of(request.actor, Kind.IMAGE)
    context = {
        "crumbs": trail(("Droplets", "droplets"), "Create a droplet"),
        "values": values,
        "chosen_keys": request.POST.getlist("ssh_keys"),
        "refusal": refusal,
        "images": images,
        "keys": choices_of(request.actor, Kind.SSH_KEY),
        "zones": frame_of(request).zones,
        "declared": _declared(request, request.POST or _as_first_shown(values, images)),
    }
    return render(request, "console/droplets/new.html", context)


def _as_first_shown(values: Mapping[str, str], images: Sequence[Resource]) -> QueryDict:
    """Return what the form says before anybody has typed."""
    first = {"image": images[0].name} if images else {}
    return QueryDict(urlencode({**values, **first}))


@require_POST
@page
def droplet_preview(request: PageRequest) -> HttpResponse:
    """Return what the form is about to do, as YAML, command and curl."""
    context = {"declared": _declared(request, request.POST)}
    return render(request, "includes/declared.html", context)


def _declared(request: PageRequest, post: QueryDict) -> object:
    around = frame_of(request)
    zones = {str(zone.id): zone.name for zone in around.zones}
    owners = {str(owner.pk): owner.name for owner in around.owners}
    metadata = {
        "name": post.get("name", "").strip(),
        "owner": owners.get(post.get("owner", ""), ""),
        "zone": zones.get(post.get("zone", ""), ""),
        "labels": labels_of(post.get("labels", "")),
        "protected": bool(post.get("protected")),
    }
    address = f"{request.scheme}://{request.get_host()}"
    return declared("droplet", metadata, document_of(post), address=address)
