"""Images: the list, one image, declaring and deleting one."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from infra.console.context import limits_of
from infra.console.crumbs import trail
from infra.console.declarations import manifest_of, to_yaml
from infra.console.doors import PageRequest, call_of, page
from infra.console.inputs import labels_of, values_of
from infra.console.listing import PAGE_SIZE, Column, heads, order_of, paging_of, text_of
from infra.console.refusals import refusal_of
from inventory.access import access_resource
from inventory.errors import InfraError
from inventory.models import Kind
from inventory.reads.resources import ResourceFilter, activity_of, list_resources, relations_of
from inventory.specs import ImageSpec
from inventory.specs.base import parse_spec
from operations.intents.images import create_image, delete_image
from operations.intents.resources import Metadata
from operations.reads import open_changes, operations_of

SORTS = {"name": "name", "created": "created_at", "size": "image__size_bytes"}
COLUMNS = (
    Column("Name", "name"),
    Column("Format"),
    Column("Size", "size", "number"),
    Column("Smallest disk", "", "number"),
    Column("Content (SHA-256)"),
    Column("Owner"),
    Column("Declared", "created"),
)
OPERATIONS_SHOWN = 10


@page
def image_list(request: PageRequest) -> HttpResponse:
    """Show the images, or only the living rows."""
    limits = limits_of(request)
    text = text_of(request, "q")
    found = list_resources(
        request.actor,
        Kind.IMAGE,
        ResourceFilter(text, limits.owner_id, limits.zone_ids),
        order=order_of(request, SORTS, "name"),
        after=request.GET.get("after", ""),
        size=PAGE_SIZE,
    )
    changes = open_changes([row.pk for row in found.rows])
    context = {
        "rows": [(row, changes.get(row.pk)) for row in found.rows],
        "columns": list(heads(request, COLUMNS, "name")),
        "paging": paging_of(request, found),
        "text": text,
        "filtered": bool(text),
    }
    part = "console/images/rows.html" if request.htmx else "console/images/list.html"
    return render(request, part, context)


@page
def image_detail(request: PageRequest, key: UUID) -> HttpResponse:
    """Show one image."""
    resource = access_resource(request.actor, key, kind=Kind.IMAGE)
    context = {
        "crumbs": trail(("Images", "images"), resource.name),
        "resource": resource,
        "image": resource.image,
        "relations": relations_of(resource),
        "activity": activity_of(resource.pk),
        "operations": operations_of(request.actor, resource.pk, limit=OPERATIONS_SHOWN),
        "yaml": to_yaml(manifest_of(resource)),
        "may_change": request.actor.may_change(resource.owner_id) and not resource.absent,
    }
    part = "console/images/part.html" if request.htmx else "console/images/detail.html"
    return render(request, part, context)


@page
def image_create(request: PageRequest) -> HttpResponse:
    """Declare an image."""
    values = {"format": "raw", "min_disk_gib": "1"}
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            names = ("sha256", "format", "size_bytes", "min_disk_gib", "url")
            spec = parse_spec(ImageSpec, {name: values.get(name, "").strip() for name in names})
            metadata = Metadata(
                name=values.get("name", ""),
                owner=values.get("owner") or None,
                labels=labels_of(values.get("labels", "")),
            )
            operation = create_image(call_of(request), metadata, spec)
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            return redirect("console:operation", operation.public_id)
    context = {
        "crumbs": trail(("Images", "images"), "Declare an image"),
        "values": values,
        "refusal": refusal,
    }
    return render(request, "console/images/new.html", context)


@require_POST
@page
def image_delete(request: PageRequest, key: UUID) -> HttpResponse:
    """Declare an image absent."""
    try:
        operation = delete_image(
            call_of(request), key, confirm_name=request.POST.get("confirm_name", "")
        )
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:image", key)
    return redirect("console:operation", operation.public_id)
