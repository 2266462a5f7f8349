"""The one writer of steps: moves a step by an event, writes the line, sums the operation up.

Whoever calls holds the subject's lock (`operations.locks`), so a read here is current.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from operations.models import Journal, Operation, Step
from operations.outbox import publish, wake_worker
from operations.transitions import (
    FINISHED_OPERATIONS,
    FINISHED_STEPS,
    OperationState,
    StepEvent,
    StepState,
    advance,
    summarize,
)


@dataclass(frozen=True)
class Because:
    """Why a step moves: a sentence for people, the evidence for programs, a code if refused."""

    text: str
    evidence: dict[str, object] = field(default_factory=dict)
    reason: str = ""


def record(step: Step, event: StepEvent, because: Because, *, now: datetime) -> StepState:
    """Move a step by an event and return its new state. Raises IllegalTransition.

    An event that the table maps to the same state writes nothing: it was known already.
    """
    before = StepState(step.state)
    after = advance(before, event)
    if before == after:
        return after
    step.state = after
    _stamp(step, after, because, now)
    step.save()
    Journal.objects.create(
        operation_id=step.operation_id,
        step=step,
        at=now,
        event=event,
        before=before,
        after=after,
        because=because.text,
        evidence=because.evidence,
    )
    sum_up(step.operation, now=now)
    return after


def _stamp(step: Step, after: StepState, because: Because, now: datetime) -> None:
    if after == StepState.SENT:
        step.sent_at = now
        step.attempts += 1
    elif after == StepState.ACKNOWLEDGED:
        step.acknowledged_at = now
    if after == StepState.UNKNOWN:
        step.unknown_since = now
    elif after in FINISHED_STEPS:
        step.finished_at = now
        step.ready = False
        step.progress = ""
        step.evidence = because.evidence
        step.reason = because.reason
        step.message = because.text
    if after != StepState.UNKNOWN:
        step.unknown_since = None


def note(
    operation: Operation,
    event: str,
    text: str,
    *,
    now: datetime,
    step: Step | None = None,
    evidence: dict[str, object] | None = None,
) -> None:
    """Append a line that moves nothing."""
    Journal.objects.create(
        operation=operation, step=step, at=now, event=event, because=text, evidence=evidence or {}
    )


def sum_up(operation: Operation, *, now: datetime) -> OperationState:
    """Bring the operation's state in line with its steps, and tell the watchers if it changed."""
    states = [StepState(state) for state in operation.steps.values_list("state", flat=True)]
    before, after = OperationState(operation.state), summarize(states)
    operation.state = after
    if operation.started_at is None and after != OperationState.QUEUED:
        operation.started_at = now
    finished = after in FINISHED_OPERATIONS
    operation.finished_at = now if finished else None
    if finished:
        operation.waiting_on = None
        operation.due_at = None
    operation.save(update_fields=["state", "started_at", "finished_at", "waiting_on", "due_at"])
    tell(operation, after if before != after else "progress", now=now)
    if finished and operation.parent_id is not None:
        wake_worker(operation.parent_id)
    return after


def tell(operation: Operation, what: str, *, now: datetime) -> None:
    """Tell the watchers of an operation what became of it."""
    publish(
        "operation",
        what,
        operation.pk,
        now=now,
        owner_id=operation.owner_id,
        operation_id=operation.pk,
        data={"resource_id": str(operation.resource_id or ""), "kind": operation.kind},
    )
