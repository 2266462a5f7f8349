"""Nodes for pages: rows of the list, and one node with all that is known of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import QuerySet

from inventory.capacity import Amount, allocatable
from inventory.models import (
    EnrolmentToken,
    Node,
    NodeCertificate,
    NodeCondition,
    NodeJournal,
    NodeLink,
)
from inventory.reads.keyset import Order, Page, take_page

UNREACHABLE = "unreachable"
JOURNAL_LINES = 50


@dataclass(frozen=True, slots=True)
class NodeFilter:
    """What the list is narrowed to; None and "" mean no limit."""

    text: str = ""
    zone_ids: Collection[UUID] | None = None
    lifecycle: str = ""
    condition: str = ""


def filter_nodes(wanted: NodeFilter) -> QuerySet[Node]:
    """Return the nodes that fit; those that left only when asked for."""
    nodes = Node.objects.select_related("zone", "link").prefetch_related("conditions")
    if wanted.lifecycle:
        nodes = nodes.filter(lifecycle=wanted.lifecycle)
    else:
        nodes = nodes.exclude(lifecycle="left")
    if wanted.text:
        nodes = nodes.filter(name__icontains=wanted.text)
    if wanted.zone_ids is not None:
        nodes = nodes.filter(zone_id__in=list(wanted.zone_ids))
    if wanted.condition:
        nodes = nodes.filter(conditions__kind=wanted.condition)
    return nodes


def list_nodes(wanted: NodeFilter, *, order: Order, after: str, size: int) -> Page[Node]:
    """Return a page of nodes with zone, link and conditions. Two queries."""
    return take_page(filter_nodes(wanted), order=order, after=after, size=size)


@dataclass(frozen=True, slots=True)
class NodeDetail:
    """One node: what was declared, what it told, and how we talk to it."""

    node: Node
    link: NodeLink | None
    conditions: Sequence[NodeCondition]
    certificate: NodeCertificate | None
    open_token: EnrolmentToken | None
    journal: Sequence[NodeJournal]

    @property
    def room(self) -> Amount:
        return allocatable(self.node.capacity, self.node.over_commit)

    @property
    def unreachable(self) -> NodeCondition | None:
        return next((c for c in self.conditions if c.kind == UNREACHABLE), None)


def read_node(node: Node) -> NodeDetail:
    """Return all that the node's page shows of the node itself. Five queries."""
    return NodeDetail(
        node=node,
        link=NodeLink.objects.filter(node=node).first(),
        conditions=list(node.conditions.order_by("kind")),
        certificate=NodeCertificate.objects.filter(node=node, revoked_at__isnull=True)
        .order_by("-not_after")
        .first(),
        open_token=EnrolmentToken.objects.filter(node=node, used_at__isnull=True)
        .order_by("-expires_at")
        .first(),
        journal=list(NodeJournal.objects.filter(node=node).order_by("-id")[:JOURNAL_LINES]),
    )
