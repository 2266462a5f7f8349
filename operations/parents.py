"""Operations made of others, such as an applied manifest: summed up from their children."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from operations.models import Operation
from operations.outbox import publish
from operations.transitions import FINISHED_OPERATIONS, OperationState


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


def sum_up_parent(parent: Operation, *, now: datetime) -> str:
    """Bring a locked parent in line with its children and return its state."""
    states = [OperationState(state) for state in parent.children.values_list("state", flat=True)]
    before, after = parent.state, summarize_children(states)
    if before == after and (after in FINISHED_OPERATIONS) == (parent.finished_at is not None):
        return after
    parent.state = after
    if parent.started_at is None and after != OperationState.QUEUED:
        parent.started_at = now
    finished = after in FINISHED_OPERATIONS
    parent.finished_at = now if finished else None
    parent.due_at = None if finished else parent.due_at
    parent.save(update_fields=["state", "started_at", "finished_at", "due_at"])
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
