"""What pages read of operations: lists, the tray, one operation, and it in words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, OuterRef, QuerySet

from inventory.access import Actor
from inventory.models import NodeCondition
from inventory.reads.attention import Limits
from inventory.reads.keyset import Order, Page, take_page
from inventory.reads.nodes import UNREACHABLE
from inventory.standing import OpenChange
from operations.intents.operations import may_see
from operations.models import Journal, Operation, Step
from operations.transitions import OPEN_OPERATIONS, OperationState

NEWEST_FIRST = Order("pk", descending=True)
JOURNAL_LINES = 500


@dataclass(frozen=True, slots=True)
class OperationFilter:
    """What the list is narrowed to; None and "" mean no limit."""

    text: str = ""
    state: str = ""
    kind: str = ""
    cause: str = ""
    owner_id: UUID | None = None
    zone_ids: Collection[UUID] | None = None
    actor_id: int | None = None
    resource_id: UUID | None = None


def visible_operations(actor: Actor) -> QuerySet[Operation]:
    """Return the operations the actor may see."""
    operations = Operation.objects.all()
    if actor.administrator:
        return operations
    return operations.filter(may_see(actor))


def list_operations(
    actor: Actor, wanted: OperationFilter, *, after: str, size: int
) -> Page[Operation]:
    """Return a page of operations, newest first. One query."""
    operations = visible_operations(actor).select_related("owner")
    if wanted.state == "open":
        operations = operations.filter(finished_at__isnull=True)
    elif wanted.state:
        operations = operations.filter(state=wanted.state)
    limits: dict[str, object] = {
        "resource_name__icontains": wanted.text,
        "kind": wanted.kind,
        "cause": wanted.cause,
        "owner_id": wanted.owner_id,
        "actor_id": wanted.actor_id,
        "resource_id": wanted.resource_id,
    }
    operations = operations.filter(**{name: value for name, value in limits.items() if value})
    if wanted.zone_ids is not None:
        operations = operations.filter(resource__zone_id__in=list(wanted.zone_ids))
    return take_page(operations, order=NEWEST_FIRST, after=after, size=size)


def open_changes(resource_ids: Collection[UUID]) -> Mapping[UUID, OpenChange]:
    """Return the newest open operation of each resource that has one. One query."""
    rows = Operation.objects.filter(
        resource_id__in=list(resource_ids), state__in=OPEN_OPERATIONS
    ).order_by("pk")
    return {
        row.resource_id: OpenChange(row.kind, row.state, waiting_words(row.waiting_on))
        for row in rows
        if row.resource_id is not None
    }


@dataclass(frozen=True, slots=True)
class Tray:
    """What the tray shows: all that is open, what failed lately, and how mine ended."""

    mine: Sequence[Operation]
    open: Sequence[Operation]
    failed: Sequence[Operation]
    more_open: bool

    @property
    def reconciling(self) -> bool:
        return any(operation.state == OperationState.RECONCILING for operation in self.open)


TRAY_SIZE = 30


def read_tray(actor: Actor) -> Tray:
    """Return the tray of a person. Three queries, each bounded."""
    visible = visible_operations(actor)
    ended = visible.filter(actor_id=actor.user_id, finished_at__isnull=False)
    mine = ended.order_by("-pk")[:8] if actor.user_id else []
    running = list(visible.filter(finished_at__isnull=True).order_by("-pk")[: TRAY_SIZE + 1])
    failed = visible.filter(state=OperationState.FAILED).order_by("-pk")[:8]
    return Tray(
        mine=list(mine),
        open=running[:TRAY_SIZE],
        failed=list(failed),
        more_open=len(running) > TRAY_SIZE,
    )


@dataclass(frozen=True, slots=True)
class OperationDetail:
    """One operation with its steps, its journal, and the nodes we cannot reach."""

    operation: Operation
    steps: Sequence[Step]
    journal: Sequence[Journal]
    children: Sequence[Operation]
    unreachable: Mapping[UUID, NodeCondition]


def read_operation(operation: Operation) -> OperationDetail:
    """Return what the operation's page shows. Four queries."""
    steps = list(operation.steps.select_related("node").order_by("index"))
    nodes = [step.node_id for step in steps if step.node_id]
    silent = NodeCondition.objects.filter(node_id__in=nodes, kind=UNREACHABLE)
    newest = operation.journal.order_by("-pk")[:JOURNAL_LINES]
    return OperationDetail(
        operation=operation,
        steps=steps,
        journal=list(reversed(newest)),
        children=list(operation.children.order_by("pk")[:200]),
        unreachable={condition.node_id: condition for condition in silent},
    )


def operations_of(actor: Actor, resource_id: UUID, *, limit: int) -> Sequence[Operation]:
    """Return the newest operations of one resource. One query."""
    return list(visible_operations(actor).filter(resource_id=resource_id).order_by("-pk")[:limit])


def waiting_words(waiting_on: object) -> str:
    """Return in a sentence what an operation waits for, from the document kept with it."""
    if not isinstance(waiting_on, Mapping):
        return str(waiting_on or "")
    for key in ("text", "message", "why"):
        if waiting_on.get(key):
            return str(waiting_on[key])
    reasons = waiting_on.get("reasons", waiting_on)
    if not isinstance(reasons, Mapping):
        return str(reasons)
    counted = ", ".join(f"{name}: {count}" for name, count in sorted(reasons.items()))
    return f"Waiting ({counted})." if counted else ""


@dataclass(frozen=True, slots=True)
class OperationAttention:
    """Operations that ask for a person: uncertain, without room, or failed and not answered."""

    uncertain: Sequence[Operation]
    waiting: Sequence[Operation]
    failed: Sequence[Operation]


def read_attention(
    actor: Actor, limits: Limits, *, since: datetime, most: int = 20
) -> OperationAttention:
    """Return what to look at; a failure counts until something newer was asked. 3 queries."""
    visible = visible_operations(actor).order_by("-pk")
    if limits.owner_id is not None:
        visible = visible.filter(owner_id=limits.owner_id)
    if limits.zone_ids is not None:
        visible = visible.filter(resource__zone_id__in=list(limits.zone_ids))
    newer = Operation.objects.filter(resource_id=OuterRef("resource_id"), pk__gt=OuterRef("pk"))
    failed = visible.filter(state=OperationState.FAILED, finished_at__gte=since).exclude(
        Exists(newer)
    )
    return OperationAttention(
        uncertain=list(visible.filter(state=OperationState.RECONCILING)[:most]),
        waiting=list(visible.filter(finished_at__isnull=True, waiting_on__isnull=False)[:most]),
        failed=list(failed[:most]),
    )


def recent_operations(actor: Actor, limits: Limits, *, most: int = 10) -> Sequence[Operation]:
    """Return the newest operations in the scope. One query."""
    wanted = OperationFilter(owner_id=limits.owner_id, zone_ids=limits.zone_ids)
    return list_operations(actor, wanted, after="", size=most).rows
