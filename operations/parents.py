"""Operations made of others, such as an applied manifest: summed up from their children."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from inventory.models import Owner
from operations.intents.call import Call
from operations.journal import note
from operations.models import Operation
from operations.outbox import publish
from operations.transitions import FINISHED_OPERATIONS, OperationState

LOOK_AGAIN = timedelta(seconds=5)
"""The last child to end wakes its parent; this covers two that end at the same moment, each of
which sees the other as still open."""


WAITS_TOLD = 3
"""How many waiting parts a whole names; the rest are counted."""


def open_parent(call: Call, kind: str, *, owner: Owner | None, about: str) -> Operation:
    """Return a new operation that has no steps of its own, to be given children and summed up.

    Without an owner only administrators and its own author see it.
    """
    operation = Operation.objects.create(
        kind=kind,
        resource_name=about,
        owner=owner,
        reason=call.reason,
        actor_id=call.actor.user_id,
        actor_label=call.actor.label,
        request_id=call.request_id,
        created_at=call.now,
        due_at=call.now + LOOK_AGAIN,
    )
    note(operation, "opened", f"{call.actor.label} asked for {kind}.", now=call.now)
    return operation


def summarize_children(states: Iterable[OperationState]) -> OperationState:
    """Return the state of a whole from its parts: finished exactly when all of them are. Pure."""
    seen = set(states)
    if OperationState.RECONCILING in seen:
        return OperationState.RECONCILING
    if seen <= FINISHED_OPERATIONS:
        for worst in (OperationState.FAILED, OperationState.CANCELLED):
            if worst in seen:
                return worst
        return OperationState.SUCCEEDED
    if seen <= {OperationState.QUEUED}:
        return OperationState.QUEUED
    return OperationState.RUNNING


def _waits_of(children: Iterable[Operation]) -> dict[str, object] | None:
    """Return what the parts wait for, the first few by name; None when none waits."""
    waits = [
        f"{child.resource_kind} {child.resource_name}: {child.waiting_on.get('text', '')}"
        for child in children
        if child.waiting_on
    ]
    if not waits:
        return None
    more = f" And {len(waits) - WAITS_TOLD} more wait." if len(waits) > WAITS_TOLD else ""
    return {"code": "parts", "text": " ".join(waits[:WAITS_TOLD]) + more}


def sum_up_parent(parent: Operation, *, now: datetime) -> str:
    """Bring a locked parent in line with its children and return its state."""
    children = list(parent.children.order_by("pk"))
    states = [OperationState(child.state) for child in children]
    before, after = parent.state, summarize_children(states)
    finished = after in FINISHED_OPERATIONS
    parent.due_at = None if finished else now + LOOK_AGAIN
    parent.waiting_on = _waits_of(children)
    if before == after and finished == (parent.finished_at is not None):
        parent.save(update_fields=["due_at", "waiting_on"])
        return after
    parent.state = after
    if parent.started_at is None and after != OperationState.QUEUED:
        parent.started_at = now
    parent.finished_at = now if finished else None
    parent.save(update_fields=["state", "started_at", "finished_at", "due_at", "waiting_on"])
    note(
        parent,
        "summed_up",
        f"{len(states)} parts: {before} became {after}.",
        now=now,
        evidence={"parts": len(states)},
    )
    publish(
        "operation",
        after,
        parent.pk,
        now=now,
        owner_id=parent.owner_id,
        operation_id=parent.pk,
        data={"kind": parent.kind},
    )
    return after
