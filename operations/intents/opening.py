"""Opening an operation: its row, its fixed steps, and what becomes of older ones."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from inventory.access import check_may_change
from inventory.errors import Conflict, NotFound
from inventory.models import Installation, Resource
from operations.intents.call import Call, check_revision
from operations.journal import Because, note, record, tell
from operations.locks import lock_resource
from operations.models import Operation, Step
from operations.outbox import publish, wake_worker
from operations.planning.steps import StepKind
from operations.transitions import (
    FINISHED_OPERATIONS,
    OPEN_OPERATIONS,
    StepEvent,
    StepState,
    summarize,
)


def lock_for_change(
    call: Call, resource: Resource, action: str, *, against_references: bool = False
) -> Resource:
    """Return the resource locked, after checking rights, revision and that it still is.

    Raises Forbidden, RevisionMismatch, NotFound, or Conflict when it is being deleted.
    """
    check_may_change(call.actor, resource, action)
    locked = lock_resource(resource.pk, against_references=against_references)
    if locked is None or locked.deleted_at is not None:
        raise NotFound(resource.kind, resource.name)
    check_revision(call, locked.revision)
    if locked.absent:
        raise Conflict(
            "resource.deleting",
            f"{locked.kind} {locked.name} is being deleted. Nothing changed; wait for the "
            "deletion to end, then declare it anew if you want it back.",
        )
    return locked


def bump(resource: Resource, call: Call, *, generation: bool = True) -> None:
    """Save the resource under its next revision and, if agents must see it, generation."""
    resource.revision += 1
    if generation:
        epoch = current_epoch()
        resource.generation = resource.generation + 1 if resource.epoch == epoch else 1
        resource.epoch = epoch
    resource.updated_at = call.now
    resource.save()
    tell_declared(resource, call)


def tell_declared(resource: Resource, call: Call) -> None:
    """Tell the watchers that a resource was declared anew."""
    publish(
        "resource",
        "declared",
        resource.pk,
        now=call.now,
        owner_id=resource.owner_id,
        data={"kind": resource.kind, "revision": resource.revision},
    )


def current_epoch() -> int:
    """Return the installation epoch under which declarations are made now."""
    return Installation.objects.values_list("epoch", flat=True).first() or 1


def open_operation(
    call: Call,
    resource: Resource,
    kind: str,
    steps: Sequence[StepKind],
    *,
    cause: str = "person",
    previous: dict[str, object] | None = None,
    parent_id: UUID | None = None,
    retry_of: Operation | None = None,
) -> Operation:
    """Write the operation and all its steps, supersede older ones, and wake a worker."""
    state = summarize(StepState.UNSENT for _ in steps)
    finished = state in FINISHED_OPERATIONS
    operation = Operation.objects.create(
        kind=kind,
        resource=resource,
        resource_kind=resource.kind,
        resource_name=resource.name,
        owner=resource.owner,
        epoch=resource.epoch,
        generation=resource.generation,
        cause=cause,
        reason=call.reason,
        actor_id=call.actor.user_id,
        actor_label=call.actor.label,
        request_id=call.request_id,
        parent_id=parent_id,
        retry_of=retry_of,
        previous=previous,
        state=state,
        created_at=call.now,
        finished_at=call.now if finished else None,
        due_at=None if finished else call.now,
    )
    Step.objects.bulk_create(
        Step(operation=operation, index=index, kind=step, created_at=call.now)
        for index, step in enumerate(steps)
    )
    note(operation, "opened", f"{call.actor.label} asked for {kind}.", now=call.now)
    if resource.revision > 1:
        _supersede_older(operation, resource.pk, call)
    tell(operation, state, now=call.now)
    if steps:
        wake_worker(operation.pk)
    return operation


def _supersede_older(newer: Operation, resource_id: UUID, call: Call) -> None:
    """Cancel what older operations have not sent; what they have sent ends by evidence."""
    older = Operation.objects.filter(
        resource_id=resource_id, state__in=OPEN_OPERATIONS, superseded_by__isnull=True
    ).exclude(pk=newer.pk)
    for operation in older:
        operation.superseded_by = newer
        operation.waiting_on = None
        operation.save(update_fields=["superseded_by", "waiting_on"])
        because = Because(
            f"Operation {newer.public_id} ({newer.kind}) declared something newer first.",
            reason="superseded",
        )
        for step in operation.steps.filter(state=StepState.UNSENT):
            step.operation = operation
            record(step, StepEvent.CANCEL, because, now=call.now)
