"""SSH keys: the list, one key, adding and deleting one."""

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
from inventory.specs import SshKeySpec
from inventory.specs.base import parse_spec
from operations.intents.resources import Metadata
from operations.intents.sshkeys import create_ssh_key, delete_ssh_key
from operations.reads import operations_of

SORTS = {"name": "name", "created": "created_at"}
COLUMNS = (
    Column("Name", "name"),
    Column("Fingerprint"),
    Column("Owner"),
    Column("Added", "created"),
)
OPERATIONS_SHOWN = 10


@page
def key_list(request: PageRequest) -> HttpResponse:
    """Show the keys, or only the living rows."""
    text = text_of(request, "q")
    found = list_resources(
        request.actor,
        Kind.SSH_KEY,
        ResourceFilter(text, limits_of(request).owner_id),
        order=order_of(request, SORTS, "name"),
        after=request.GET.get("after", ""),
        size=PAGE_SIZE,
    )
    context = {
        "rows": found.rows,
        "columns": list(heads(request, COLUMNS, "name")),
        "paging": paging_of(request, found),
        "text": text,
        "filtered": bool(text),
    }
    part = "console/sshkeys/rows.html" if request.htmx else "console/sshkeys/list.html"
    return render(request, part, context)


@page
def key_detail(request: PageRequest, key: UUID) -> HttpResponse:
    """Show one key."""
    resource = access_resource(request.actor, key, kind=Kind.SSH_KEY)
    context = {
        "crumbs": trail(("SSH keys", "sshkeys"), resource.name),
        "resource": resource,
        "sshkey": resource.sshkey,
        "relations": relations_of(resource),
        "activity": activity_of(resource.pk),
        "operations": operations_of(request.actor, resource.pk, limit=OPERATIONS_SHOWN),
        "yaml": to_yaml(manifest_of(resource)),
        "may_change": request.actor.may_change(resource.owner_id) and not resource.absent,
    }
    part = "console/sshkeys/part.html" if request.htmx else "console/sshkeys/detail.html"
    return render(request, part, context)


@page
def key_create(request: PageRequest) -> HttpResponse:
    """Add a key."""
    values: dict[str, str] = {}
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            document = {"public_key": values.get("public_key", "").strip()}
            spec = parse_spec(SshKeySpec, document)
            metadata = Metadata(
                name=values.get("name", ""),
                owner=values.get("owner") or None,
                labels=labels_of(values.get("labels", "")),
            )
            create_ssh_key(call_of(request), metadata, spec)
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, "The key is added. New droplets can take it.")
            return redirect("console:sshkeys")
    context = {
        "crumbs": trail(("SSH keys", "sshkeys"), "Add a key"),
        "values": values,
        "refusal": refusal,
    }
    return render(request, "console/sshkeys/new.html", context)


@require_POST
@page
def key_delete(request: PageRequest, key: UUID) -> HttpResponse:
    """Declare a key absent."""
    try:
        delete_ssh_key(call_of(request), key, confirm_name=request.POST.get("confirm_name", ""))
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:sshkey", key)
    messages.success(request, "The key is deleted. Droplets that took it keep it on their disks.")
    return redirect("console:sshkeys")
