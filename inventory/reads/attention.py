"""What in the fleet asks for a person, and how much there is of everything."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Model, QuerySet

from inventory.access import Actor, visible_found, visible_resources
from inventory.models import (
    Kind,
    Node,
    NodeCertificate,
    NodeCondition,
    Resource,
    Zone,
)

COUNT_TO = 1000
"""Beyond, the exact number helps nobody and costs a scan."""

CERTIFICATE_WARNING = timedelta(days=3)
"""Agents renew weeks before; this close to the end, renewal does not work."""

PROBLEMS_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Limits:
    """The scope, as reads take it."""

    zone_ids: Collection[UUID] | None = None
    owner_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Amounts:
    """How many there are; COUNT_TO + 1 means "more than COUNT_TO"."""

    zones: int
    nodes: int
    droplets: int
    images: int
    keys: int
    found: int


@dataclass(frozen=True, slots=True)
class FleetAttention:
    """Nodes with something the matter."""

    conditions: Sequence[NodeCondition]
    expiring: Sequence[NodeCertificate]
    joining: Sequence[Node]


def read_amounts(actor: Actor, limits: Limits) -> Amounts:
    """Return bounded counts. Six queries."""
    nodes = _nodes(limits)
    return Amounts(
        zones=_count(Zone.objects.all()),
        nodes=_count(nodes),
        droplets=_count(_resources(actor, Kind.DROPLET, limits)),
        images=_count(_resources(actor, Kind.IMAGE, limits)),
        keys=_count(_resources(actor, Kind.SSH_KEY, limits)),
        found=_count(visible_found(actor).filter(node__in=nodes)),
    )


def read_attention(limits: Limits, *, now: datetime) -> FleetAttention:
    """Return nodes' conditions, certificates about to end, and nodes still to join. 3 queries."""
    nodes = _nodes(limits)
    expiring = NodeCertificate.objects.filter(
        node__in=nodes, revoked_at__isnull=True, not_after__lt=now + CERTIFICATE_WARNING
    ).exclude(node__certificates__not_after__gte=now + CERTIFICATE_WARNING)
    return FleetAttention(
        conditions=list(
            NodeCondition.objects.filter(node__in=nodes)
            .select_related("node")
            .order_by("since", "pk")[:PROBLEMS_SHOWN]
        ),
        expiring=list(expiring.select_related("node").order_by("not_after")[:PROBLEMS_SHOWN]),
        joining=list(nodes.filter(lifecycle="joining").order_by("name")[:PROBLEMS_SHOWN]),
    )


def _nodes(limits: Limits) -> QuerySet[Node]:
    nodes = Node.objects.exclude(lifecycle="left")
    if limits.zone_ids is not None:
        nodes = nodes.filter(zone_id__in=list(limits.zone_ids))
    return nodes


def _resources(actor: Actor, kind: str, limits: Limits) -> QuerySet[Resource]:
    rows = visible_resources(actor, kind)
    if limits.owner_id is not None:
        rows = rows.filter(owner_id=limits.owner_id)
    if limits.zone_ids is not None and kind == Kind.DROPLET:
        rows = rows.filter(zone_id__in=list(limits.zone_ids))
    return rows


def _count(rows: QuerySet[Model]) -> int:
    return rows.order_by()[: COUNT_TO + 1].count()
