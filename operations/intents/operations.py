"""Intents about operations themselves: cancel what has not begun, retry what failed."""

from __future__ import annotations

from uuid import UUID

from django.db.models import Q

from inventory.access import Actor, as_uuid, check_may_change
from inventory.errors import Conflict, NotFound
from inventory.models import Resource
from operations.audit import record_audit
from operations.intents.call import Call, door
from operations.intents.opening import bump, open_operation
from operations.intents.undo import restore_declaration
from operations.journal import Because, record
from operations.locks import lock_operation
from operations.models import Operation
from operations.planning.steps import StepKind
from operations.transitions import FINISHED_OPERATIONS, OperationState, StepEvent, StepState


def may_see(actor: Actor) -> Q:
    """Return the condition of what an actor who does not administer may see.

    An operation over several owners has none: its author alone sees it as a whole.
    """
    theirs = Q(owner_id__in=list(actor.roles))
    if actor.user_id is None:
        return theirs
    return theirs | Q(owner__isnull=True, actor_id=actor.user_id)


def access_operation(actor: Actor, key: UUID | str | int) -> Operation:
    """Return an operation by id or public id that the actor may see. Raises NotFound."""
    operations = Operation.objects.select_related("resource", "owner", "superseded_by", "actor")
    if not actor.administrator:
        operations = operations.filter(may_see(actor))
    identifier = as_uuid(key)
    if identifier is not None:
        found = operations.filter(pk=identifier).first()
    elif str(key).isdecimal() and len(str(key)) <= 18:  # noqa: PLR2004  a PostgreSQL bigint
        found = operations.filter(public_id=int(key)).first()
    else:
        found = None
    if found is None:
        raise NotFound("operation", str(key))
    return found


def cancel_operation(call: Call, key: UUID | str | int) -> Operation:
    """Take back an operation of which nothing was sent, and with it what it declared.

    Raises Conflict once a node may have acted: then the way back is the opposite change.
    """
    with door(call):
        operation, resource = _lock(call, key, "cancel an operation of")
        if operation.state in FINISHED_OPERATIONS:
            raise Conflict(
                "operation.finished",
                f"Operation {operation.public_id} has already {operation.state}. Nothing changed.",
            )
        steps = list(operation.steps.all())
        if not may_cancel(steps_states(operation)):
            raise Conflict(
                "operation.sent",
                f"Operation {operation.public_id} was already sent to a node, so it cannot be "
                "taken back. Nothing changed; ask for the opposite change instead, which wins "
                "over this one.",
            )
        because = Because(f"{call.actor.label} cancelled it before anything was sent.")
        for step in steps:
            if step.state == StepState.UNSENT:
                step.operation = operation
                record(step, StepEvent.CANCEL, because, now=call.now)
        if operation.superseded_by_id is None:
            restore_declaration(call, operation, resource)
        record_audit(
            call,
            "operation.cancel",
            kind="operation",
            object_id=operation.pk,
            name=resource.name,
            operation_id=operation.pk,
        )
        operation.refresh_from_db()
        return operation


def steps_states(operation: Operation) -> list[StepState]:
    """Return the states of an operation's node steps."""
    rows = operation.steps.filter(kind=StepKind.APPLY).values_list("state", flat=True)
    return [StepState(state) for state in rows]


def may_cancel(node_steps: list[StepState]) -> bool:
    """Return whether no node can have acted for the operation."""
    return all(state == StepState.UNSENT for state in node_steps)


def retry_operation(call: Call, key: UUID | str | int) -> Operation:
    """Open the same operation again, under a newer generation. Raises Conflict unless it failed."""
    with door(call):
        operation, resource = _lock(call, key, "retry an operation of")
        if operation.state not in {OperationState.FAILED, OperationState.CANCELLED}:
            raise Conflict(
                "operation.not_failed",
                f"Operation {operation.public_id} is {operation.state}; only one that failed can "
                "be retried. Nothing changed.",
            )
        newer = Operation.objects.filter(resource=resource, id__gt=operation.pk).exists()
        if newer or resource.deleted_at is not None:
            raise Conflict(
                "operation.outdated",
                f"{resource.kind} {resource.name} has had newer operations since. Nothing changed; "
                "ask for what you want now.",
            )
        bump(resource, call)
        kinds = [StepKind(step.kind) for step in operation.steps.all()]
        again = open_operation(
            call,
            resource,
            operation.kind,
            kinds,
            cause="retry",
            retry_of=operation,
            previous=operation.previous,
        )
        record_audit(
            call,
            "operation.retry",
            kind="operation",
            object_id=operation.pk,
            name=resource.name,
            operation_id=again.pk,
        )
        return again


def _lock(call: Call, key: UUID | str | int, action: str) -> tuple[Operation, Resource]:
    found = access_operation(call.actor, key)
    if found.resource is None:
        raise Conflict(
            "operation.composite",
            f"Operation {found.public_id} is made of others; act on those one by one.",
        )
    check_may_change(call.actor, found.resource, action)
    operation = lock_operation(found.pk)
    if operation is None or operation.resource is None:
        raise NotFound("operation", str(key))
    return operation, operation.resource
