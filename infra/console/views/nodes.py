"""Nodes: list, one node, declaring one, its lifecycle, and the command that joins a machine."""

from __future__ import annotations

from decimal import Decimal

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from infra.console.context import frame_of, limits_of
from infra.console.crumbs import trail
from infra.console.doors import PageRequest, call_of, page
from infra.console.inputs import decimal_of, labels_of, labels_text, values_of
from infra.console.listing import (
    PAGE_SIZE,
    Column,
    Filter,
    Option,
    heads,
    order_of,
    paging_of,
    text_of,
)
from infra.console.refusals import refusal_of
from infra.joining import join_command
from inventory.access import access_node, check_may_administer
from inventory.errors import InfraError
from inventory.lifecycles import NODE_TRANSITIONS, NodeEvent, NodeLifecycle
from inventory.models import Node
from inventory.reads.droplets import droplets_on
from inventory.reads.nodes import UNREACHABLE, NodeFilter, list_nodes, read_node
from inventory.reads.resources import activity_of
from operations.enrolment import TOKEN_LIFE, create_enrolment_token
from operations.intents.nodes import change_node, create_node, move_lifecycle
from operations.reads import open_changes

DROPLETS_SHOWN = 200
PEOPLE_ASK = (NodeEvent.DRAIN, NodeEvent.RESUME, NodeEvent.LEAVE)
"""The other events of the table are a machine's or the loop's."""

SORTS = {"name": "name", "zone": "zone__name", "joined": "created_at", "memory": "memory_mib"}
COLUMNS = (
    Column("Name", "name"),
    Column("State"),
    Column("Zone", "zone"),
    Column("vCPUs"),
    Column("Memory", "memory"),
    Column("Disk"),
    Column("Last report"),
    Column("Agent"),
)


@page
def node_list(request: PageRequest) -> HttpResponse:
    """Show the nodes, or only the living rows."""
    wanted = NodeFilter(
        text=text_of(request, "q"),
        zone_ids=limits_of(request).zone_ids,
        lifecycle=text_of(request, "lifecycle"),
        condition=text_of(request, "condition"),
    )
    found = list_nodes(
        wanted,
        order=order_of(request, SORTS, "name"),
        after=request.GET.get("after", ""),
        size=PAGE_SIZE,
    )
    context = {
        "nodes": found.rows,
        "columns": list(heads(request, COLUMNS, "name")),
        "paging": paging_of(request, found),
        "text": wanted.text,
        "filters": _filters(wanted),
        "filtered": bool(wanted.text or wanted.lifecycle or wanted.condition),
        "may_administer": request.actor.may_administer,
    }
    part = "console/nodes/rows.html" if request.htmx else "console/nodes/list.html"
    return render(request, part, context)


def _filters(wanted: NodeFilter) -> list[Filter]:
    lifecycles = [Option(state, state) for state in NodeLifecycle]
    return [
        Filter("lifecycle", "Lifecycle", wanted.lifecycle, lifecycles),
        Filter("condition", "Condition", wanted.condition, [Option(UNREACHABLE, UNREACHABLE)]),
    ]


@page
def node_detail(request: PageRequest, key: str) -> HttpResponse:
    """Show one node."""
    return _show(request, access_node(request.actor, key))


def _show(request: PageRequest, node: Node, *, token: str = "") -> HttpResponse:
    rows = droplets_on(request.actor, node, limit=DROPLETS_SHOWN)
    changes = open_changes([row.resource.pk for row in rows])
    context = {
        "crumbs": trail(("Nodes", "nodes"), node.name),
        "node": node,
        "detail": read_node(node),
        "droplets": [(row, row.standing(changes.get(row.resource.pk))) for row in rows],
        "activity": activity_of(node.pk),
        "events": _possible_events(node) if request.actor.may_administer else [],
        "may_administer": request.actor.may_administer,
        "now": timezone.now(),
        "token": token,
        "token_hours": int(TOKEN_LIFE.total_seconds() // 3600),
        "join_command": join_command(token) if token else "",
    }
    part = "console/nodes/part.html" if request.htmx else "console/nodes/detail.html"
    return render(request, part, context)


def _possible_events(node: Node) -> list[NodeEvent]:
    state = NodeLifecycle(node.lifecycle)
    return [event for event in PEOPLE_ASK if (state, event) in NODE_TRANSITIONS]


@require_POST
@page
def node_token(request: PageRequest, key: str) -> HttpResponse:
    """Make a one-time token and show the command that uses it, now and never again."""
    node = access_node(request.actor, key)
    try:
        token = create_enrolment_token(node, call_of(request))
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:node", key)
    return _show(request, node, token=token)


@require_POST
@page
def node_lifecycle(request: PageRequest, key: str) -> HttpResponse:
    """Drain, resume, or let leave."""
    asked = request.POST.get("event", "")
    event = next((event for event in PEOPLE_ASK if event == asked), None)
    if event is None:
        messages.error(request, "That is no step of a node's life. Nothing was changed.")
        return redirect("console:node", key)
    try:
        node = move_lifecycle(call_of(request), key, event)
    except InfraError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Node {node.name} is {node.lifecycle}.")
    return redirect("console:node", key)


@page
def node_create(request: PageRequest) -> HttpResponse:
    """Declare a node; a machine joins as it afterwards."""
    check_may_administer(request.actor, "add", "a node")
    values = {"zone": request.GET.get("zone", "")}
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            node = create_node(
                call_of(request),
                name=values.get("name", ""),
                zone=values.get("zone", ""),
                labels=labels_of(values.get("labels", "")),
            )
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, f"Node {node.name} is declared. Now let a machine join.")
            return redirect("console:node", node.name)
    context = {
        "crumbs": trail(("Nodes", "nodes"), "Add a node"),
        "values": values,
        "refusal": refusal,
        "zones": frame_of(request).zones,
    }
    return render(request, "console/nodes/new.html", context)


@page
def node_edit(request: PageRequest, key: str) -> HttpResponse:
    """Change what people declare of a node."""
    node = access_node(request.actor, key)
    check_may_administer(request.actor, "change", f"node {node.name}")
    values = {
        "name": node.name,
        "zone": str(node.zone_id),
        "labels": labels_text(node.labels),
        "over_commit_vcpus": str(node.overcommit_vcpus.normalize()),
        "over_commit_memory": str(node.overcommit_memory.normalize()),
        "over_commit_disk": str(node.overcommit_disk.normalize()),
    }
    refusal = None
    if request.method == "POST":
        values = values_of(request.POST)
        try:
            node = change_node(
                call_of(request),
                node.pk,
                name=values.get("name", ""),
                zone=values.get("zone", ""),
                labels=labels_of(values.get("labels", "")),
                over_commit=_over_commit(values),
            )
        except InfraError as error:
            refusal = refusal_of(error)
        else:
            messages.success(request, f"Node {node.name} is changed.")
            return redirect("console:node", node.name)
    context = {
        "crumbs": (*trail(("Nodes", "nodes")), *trail(f"Edit {node.name}")),
        "node": node,
        "values": values,
        "refusal": refusal,
        "zones": frame_of(request).zones,
    }
    return render(request, "console/nodes/edit.html", context)


def _over_commit(values: dict[str, str]) -> dict[str, Decimal]:
    parts = ("vcpus", "memory", "disk")
    return {
        part: decimal_of(values.get(f"over_commit_{part}", ""), f"/over_commit/{part}")
        for part in parts
    }
