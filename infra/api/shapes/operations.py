"""Operations as documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from infra.api.shapes.base import Ref, Shape
from operations.explanation import Explanation
from operations.models import Journal, Operation, Step
from operations.reads import OperationDetail, waiting_words


class OperationShape(Shape):
    """An operation without its steps, from which `state` is summed up.

    `generation` is epoch.counter.
    """

    id: UUID
    public_id: int
    kind: str
    state: str
    resource_id: UUID | None
    resource_kind: str
    resource_name: str
    owner: Ref | None
    generation: str
    cause: str
    reason: str
    actor: str
    request_id: str
    waiting_text: str
    waiting_on: dict[str, object] | None
    parent_id: UUID | None
    retry_of_id: UUID | None
    superseded_by_id: UUID | None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


class StepShape(Shape):
    """One step; `node` is the name of the node that carries it out, empty for our own."""

    id: UUID
    index: int
    kind: str
    state: str
    node: str
    generation: str
    attempts: int
    reason: str
    message: str
    progress: str
    evidence: dict[str, object]
    created_at: datetime
    sent_at: datetime | None
    acknowledged_at: datetime | None
    unknown_since: datetime | None
    finished_at: datetime | None


class JournalShape(Shape):
    """One line of what happened."""

    at: datetime
    event: str
    step: str
    before: str
    after: str
    because: str
    evidence: dict[str, object]


class ExplanationShape(Shape):
    """The operation in sentences."""

    asked: str
    sent: list[str]
    known: list[str]
    unknown: list[str]
    next: str
    safe: list[str]


class ChildShape(Shape):
    """A part of a composite operation."""

    id: UUID
    public_id: int
    kind: str
    resource_kind: str
    resource_name: str
    state: str


class AcceptedOperation(OperationShape):
    """An operation with its steps, as a change is answered."""

    steps: list[StepShape]
    children: list[ChildShape]


class OperationDetailShape(AcceptedOperation):
    """All that is known of one operation."""

    journal: list[JournalShape]
    explanation: ExplanationShape


def operation_fields(row: Operation) -> Mapping[str, object]:
    """Return the fields of OperationShape; reads the owner's row if it was not joined."""
    return {
        "id": row.pk,
        "public_id": row.public_id,
        "kind": row.kind,
        "state": row.state,
        "resource_id": row.resource_id,
        "resource_kind": row.resource_kind,
        "resource_name": row.resource_name,
        "owner": {"id": row.owner.pk, "name": row.owner.name} if row.owner else None,
        "generation": f"{row.epoch}.{row.generation}",
        "cause": row.cause,
        "reason": row.reason,
        "actor": row.actor_label,
        "request_id": row.request_id,
        "waiting_text": waiting_words(row.waiting_on),
        "waiting_on": row.waiting_on,
        "parent_id": row.parent_id,
        "retry_of_id": row.retry_of_id,
        "superseded_by_id": row.superseded_by_id,
        "created_at": row.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
    }


def show_operation(row: Operation) -> OperationShape:
    """Return an operation as a row of a list."""
    return OperationShape.model_validate(operation_fields(row))


def show_accepted(
    row: Operation, steps: Sequence[Step], children: Sequence[Operation] = ()
) -> AcceptedOperation:
    """Return an operation as a change is answered."""
    return AcceptedOperation.model_validate(
        {
            **operation_fields(row),
            "steps": [show_step(step) for step in steps],
            "children": [show_child(child) for child in children],
        }
    )


def show_detail(detail: OperationDetail, explanation: Explanation) -> OperationDetailShape:
    """Return all that is known of an operation."""
    kinds = {step.pk: step.kind for step in detail.steps}
    return OperationDetailShape.model_validate(
        {
            **operation_fields(detail.operation),
            "steps": [show_step(step) for step in detail.steps],
            "children": [show_child(child) for child in detail.children],
            "journal": [_line(line, kinds) for line in detail.journal],
            "explanation": ExplanationShape(
                asked=explanation.asked,
                sent=list(explanation.sent),
                known=list(explanation.known),
                unknown=list(explanation.unknown),
                next=explanation.next,
                safe=list(explanation.safe),
            ),
        }
    )


def show_child(row: Operation) -> ChildShape:
    """Return a part of a composite operation."""
    return ChildShape(
        id=row.pk,
        public_id=row.public_id,
        kind=row.kind,
        resource_kind=row.resource_kind,
        resource_name=row.resource_name,
        state=row.state,
    )


def show_step(row: Step) -> StepShape:
    """Return a step; its node should have been joined."""
    return StepShape(
        id=row.pk,
        index=row.index,
        kind=row.kind,
        state=row.state,
        node=row.node.name if row.node else "",
        generation=f"{row.epoch}.{row.generation}",
        attempts=row.attempts,
        reason=row.reason,
        message=row.message,
        progress=row.progress,
        evidence=row.evidence,
        created_at=row.created_at,
        sent_at=row.sent_at,
        acknowledged_at=row.acknowledged_at,
        unknown_since=row.unknown_since,
        finished_at=row.finished_at,
    )


def _line(row: Journal, kinds: Mapping[UUID, str]) -> JournalShape:
    return JournalShape(
        at=row.at,
        event=row.event,
        step=kinds.get(row.step_id, "") if row.step_id else "",
        before=row.before,
        after=row.after,
        because=row.because,
        evidence=row.evidence,
    )
