"""One turn of an operation: carry out what is the control plane's, make ready what is a node's.

Any number of workers may take turns at once; the subject's lock lets one through, the others
find nothing to do. A turn is safe to repeat and to lose.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from inventory.models import Resource
from operations.journal import Because, note, record
from operations.local_steps import LOCAL_STEPS, Answer, Done, Refused, Waiting, skip_apply
from operations.locks import lock_operation
from operations.models import Operation, Step
from operations.outbox import publish, wake_node, wake_worker
from operations.parents import sum_up_parent
from operations.planning.steps import ON_NODE, StepKind
from operations.reservations import active_placement
from operations.transitions import FINISHED_OPERATIONS, StepEvent, StepState

LOOK_AGAIN = timedelta(seconds=30)
"""When nothing else wakes an operation; sweeps and reports usually do long before."""


def advance(operation_id: UUID, *, now: datetime) -> str:
    """Take one turn and return the operation's state afterwards; "" when busy or unknown."""
    with transaction.atomic():
        operation = lock_operation(operation_id, skip_locked=True)
        if operation is None:
            return ""
        if operation.resource is None:
            return sum_up_parent(operation, now=now)
        if operation.state in FINISHED_OPERATIONS:
            return operation.state
        operation.due_at = now + LOOK_AGAIN
        operation.save(update_fields=["due_at"])
        _take_turn(operation, operation.resource, now=now)
        return operation.state


def _take_turn(operation: Operation, resource: Resource, *, now: datetime) -> None:
    for step in operation.steps.all():
        step.operation = operation
        state = StepState(step.state)
        if state == StepState.DONE:
            continue
        if state in {StepState.REFUSED, StepState.CANCELLED}:
            _cancel_rest(operation, step, now=now)
            return
        if state != StepState.UNSENT or not _carry_out(operation, step, resource, now=now):
            return


def _carry_out(operation: Operation, step: Step, resource: Resource, *, now: datetime) -> bool:
    """Return whether the step is done, so that the next may follow in the same turn."""
    kind = StepKind(step.kind)
    if kind in ON_NODE:
        skipped = skip_apply(operation, resource)
        if skipped is not None:
            record(step, StepEvent.CONFIRM, skipped, now=now)
            return True
        _make_ready(operation, step, resource, now=now)
        return False
    return _settle(operation, step, LOCAL_STEPS[kind](operation, step, resource, now), now=now)


def _settle(operation: Operation, step: Step, answer: Answer, *, now: datetime) -> bool:
    match answer:
        case Done(because):
            _stop_waiting(operation)
            record(step, StepEvent.CONFIRM, because, now=now)
            return True
        case Refused(because):
            record(step, StepEvent.REFUSE, because, now=now)
            _cancel_rest(operation, step, now=now)
            return False
        case Waiting():
            _wait(operation, answer, now=now)
            return False


def _wait(operation: Operation, answer: Waiting, *, now: datetime) -> None:
    """Remember what is waited for; the journal gets a line only when that changes."""
    waiting: dict[str, object] = {"code": answer.code, "text": answer.text, **answer.detail}
    if operation.waiting_on != waiting:
        note(operation, "waiting", answer.text, now=now, evidence=dict(answer.detail))
        if operation.parent_id is not None:
            wake_worker(operation.parent_id)
        publish(
            "operation",
            "waiting",
            operation.pk,
            now=now,
            owner_id=operation.owner_id,
            operation_id=operation.pk,
        )
    operation.waiting_on = waiting
    operation.due_at = now + timedelta(seconds=answer.seconds)
    operation.save(update_fields=["waiting_on", "due_at"])


def _stop_waiting(operation: Operation) -> None:
    if operation.waiting_on is not None:
        operation.waiting_on = None
        operation.save(update_fields=["waiting_on"])


def _make_ready(operation: Operation, step: Step, resource: Resource, *, now: datetime) -> None:
    """Let the agent edge hand the step out to the node where the droplet stands."""
    placement = active_placement(resource.pk)
    if placement is None:
        _wait(operation, Waiting("no_placement", "It stands on no node.", 5.0), now=now)
        return
    if not step.ready:
        step.node_id = placement.node_id
        step.epoch, step.generation = resource.epoch, resource.generation
        step.ready = True
        step.save(update_fields=["node", "epoch", "generation", "ready"])
    wake_node(placement.node_id)


def _cancel_rest(operation: Operation, ended: Step, *, now: datetime) -> None:
    because = Because(f"Step {ended.kind} ended as {ended.state}, so this one is not needed.")
    for step in operation.steps.filter(state=StepState.UNSENT, index__gt=ended.index):
        step.operation = operation
        record(step, StepEvent.CANCEL, because, now=now)
