"""Sweeps: each reads the whole state, takes no argument but the time, and returns counts.

They find everything that a lost message would have started, and are safe to run twice and at
once: each change is made under its subject's lock, after looking again.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet

from inventory.access import LOOP
from inventory.models import (
    Droplet,
    Event,
    Installation,
    Kind,
    NodeCondition,
    NodeJournal,
    NodeLink,
    Placement,
    Resource,
    ResourceObservation,
)
from operations.executor import advance
from operations.facts import seen_droplet, wanted_droplet
from operations.intents.call import Call
from operations.intents.opening import bump, open_operation
from operations.journal import Because, record
from operations.liveness import silence, watching_since
from operations.locks import lock_resource
from operations.models import Operation, Step
from operations.outbox import publish
from operations.planning.droplets import STEPS, DropletOperation, find_drift, repair_due
from operations.reservations import look_for_room
from operations.transitions import OPEN_OPERATIONS, OperationState, StepEvent, StepState

BATCH = 200
"""Rows one sweep acts on; what is left is due at the next, seconds later."""

EVENTS_KEPT = timedelta(days=7)
NODE_JOURNAL_KEPT = timedelta(days=30)


@dataclass(frozen=True)
class SweepReport:
    """How many rows were looked at and how many were acted on."""

    seen: int
    acted: int


def sweep_due(*, now: datetime) -> SweepReport:
    """Take a turn of every operation that is due."""
    due = list(
        Operation.objects.filter(finished_at__isnull=True, due_at__lte=now)
        .order_by("due_at")
        .values_list("pk", flat=True)[:BATCH]
    )
    return SweepReport(len(due), sum(1 for pk in due if advance(pk, now=now)))


def sweep_lost(*, now: datetime) -> SweepReport:
    """Call unknown what was sent to a node that has fallen silent, and ask for its ledger."""
    silent = _silent_nodes(now)
    rows = list(
        Step.objects.filter(
            node_id__in=silent, state__in=[StepState.SENT, StepState.ACKNOWLEDGED]
        ).values_list("pk", "operation__resource_id", "node_id")[:BATCH]
    )
    lost = 0
    for step_id, resource_id, node_id in rows:
        lost += _lose(step_id, resource_id, silent[node_id], now=now)
    asked = {node_id for _, _, node_id in rows}
    NodeLink.objects.filter(node_id__in=asked).update(ledger_wanted=True, ledger_asked=False)
    return SweepReport(len(rows), lost)


def _lose(step_id: UUID, resource_id: UUID, silent: timedelta, *, now: datetime) -> int:
    with transaction.atomic():
        lock_resource(resource_id)
        step = Step.objects.select_related("operation").get(pk=step_id)
        if step.state not in {StepState.SENT, StepState.ACKNOWLEDGED}:
            return 0
        text = (
            f"The node has not been heard for {int(silent.total_seconds())} s, so what came of "
            "this step is unknown. Silence proves nothing: the node may well be carrying it out."
        )
        record(step, StepEvent.LOSE, Because(text), now=now)
        return 1


def _silent_nodes(now: datetime) -> dict[UUID, timedelta]:
    watching = Installation.objects.values_list("watching_since", flat=True).first() or now
    limit = timedelta(seconds=settings.ENVIRONMENT.silent_after_seconds)
    links = NodeLink.objects.exclude(node__lifecycle__in=["left", "joining"])
    found = {
        node_id: silence(last_seen or joined, watching, now=now)
        for node_id, last_seen, joined in links.values_list(
            "node_id", "last_seen", "node__joined_at"
        )
    }
    return {node_id: length for node_id, length in found.items() if length > limit}


def sweep_nodes(*, now: datetime) -> SweepReport:
    """Keep the condition `unreachable` of every node true."""
    with transaction.atomic():
        row = Installation.objects.select_for_update(no_key=True).first()
        if row is None:
            return SweepReport(0, 0)
        row.watching_since = watching_since(row.watching_since, row.swept_at, now=now)
        row.swept_at = now
        row.save(update_fields=["watching_since", "swept_at"])
    silent = _silent_nodes(now)
    marked = dict(NodeCondition.objects.filter(kind="unreachable").values_list("node_id", "pk"))
    acted = 0
    for node_id in silent.keys() - marked.keys():
        acted += _mark_unreachable(node_id, silent[node_id], now=now)
    for node_id in marked.keys() - silent.keys():
        acted += _mark_heard(node_id, now=now)
    return SweepReport(len(silent) + len(marked), acted)


def _mark_unreachable(node_id: UUID, silent: timedelta, *, now: datetime) -> int:
    with transaction.atomic():
        _, made = NodeCondition.objects.get_or_create(
            node_id=node_id,
            kind="unreachable",
            defaults={
                "since": now - silent,
                "message": "Its agent has not been heard. Its guests may still be running.",
            },
        )
        if made:
            publish("node", "unreachable", node_id, now=now)
    return int(made)


def _mark_heard(node_id: UUID, *, now: datetime) -> int:
    with transaction.atomic():
        removed, _ = NodeCondition.objects.filter(node_id=node_id, kind="unreachable").delete()
        if removed:
            publish("node", "heard", node_id, now=now)
            look_for_room(now=now)
    return int(bool(removed))


def sweep_drift(*, now: datetime) -> SweepReport:
    """Open a repair for every droplet whose node differs from its declaration."""
    suspects = list(_drift_suspects().values_list("pk", flat=True)[:BATCH])
    return SweepReport(len(suspects), sum(_repair(pk, now=now) for pk in suspects))


def _drift_suspects() -> QuerySet[Resource]:
    """Return droplets that look wrong at a glance; each is looked at closely under its lock."""
    looks_wrong = Q(observations__presence="absent") | (
        Q(observations__presence="present")
        & ~Q(observations__power=F("droplet__power"))
        & ~Q(observations__power="paused")
    )
    return (
        Resource.objects.filter(kind=Kind.DROPLET, absent=False, deleted_at__isnull=True)
        .filter(
            placements__released_at__isnull=True,
            placements__node_id=F("observations__node_id"),
        )
        .filter(looks_wrong)
        .exclude(operations__state__in=OPEN_OPERATIONS)
        .distinct()
    )


def _repair(resource_id: UUID, *, now: datetime) -> int:
    with transaction.atomic():
        resource = lock_resource(resource_id, skip_locked=True)
        if resource is None or resource.absent:
            return 0
        if resource.operations.filter(state__in=OPEN_OPERATIONS).exists():
            return 0
        placement = Placement.objects.filter(resource=resource, released_at__isnull=True).first()
        if placement is None:
            return 0
        observation = ResourceObservation.objects.filter(
            resource=resource, node_id=placement.node_id
        ).first()
        drift = find_drift(
            wanted_droplet(resource, Droplet.objects.get(resource=resource)),
            seen_droplet(observation, placement),
        )
        if drift is None or not _repair_may_start(resource, now=now):
            return 0
        call = Call(actor=LOOP, now=now, reason=drift)
        bump(resource, call)
        open_operation(
            call, resource, DropletOperation.REPAIR, STEPS[DropletOperation.REPAIR], cause="drift"
        )
        return 1


def _repair_may_start(resource: Resource, *, now: datetime) -> bool:
    """Count the failures since the last success: repeating them hotly helps no one."""
    failures, last = 0, None
    for operation in resource.operations.order_by("-id")[:12]:
        if operation.state != OperationState.FAILED:
            break
        failures += 1
        last = last or operation.finished_at
    return repair_due(last, failures, now=now)


def sweep_retention(*, now: datetime) -> SweepReport:
    """Delete outbox events and node journal lines that are past their keeping."""
    events, _ = Event.objects.filter(at__lt=now - EVENTS_KEPT).delete()
    lines, _ = NodeJournal.objects.filter(received_at__lt=now - NODE_JOURNAL_KEPT).delete()
    return SweepReport(events + lines, events + lines)
