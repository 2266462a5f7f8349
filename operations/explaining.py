"""Rows -> the facts of an explanation, and the explanation."""

from __future__ import annotations

from datetime import datetime

from inventory.models import NodeCondition
from operations.explanation import Explanation, OperationFacts, StepFacts, explain
from operations.models import Operation, Step
from operations.planning.steps import StepKind
from operations.transitions import OperationState, StepState


def explain_operation(operation: Operation) -> Explanation:
    """Return an operation in words, in at most three queries."""
    steps = list(operation.steps.select_related("node"))
    nodes = [step.node_id for step in steps if step.node_id is not None]
    silent = dict(
        NodeCondition.objects.filter(node_id__in=nodes, kind="unreachable").values_list(
            "node_id", "since"
        )
    )
    waiting = operation.waiting_on or {}
    superseding = operation.superseded_by
    return explain(
        OperationFacts(
            kind=operation.kind,
            subject=f"{operation.resource_kind} {operation.resource_name}".strip(),
            state=OperationState(operation.state),
            actor=operation.actor_label,
            cause=operation.cause,
            reason=operation.reason,
            created_at=operation.created_at,
            steps=tuple(
                _step_facts(step, silent.get(step.node_id) if step.node_id else None)
                for step in steps
            ),
            waiting_text=str(waiting.get("text", "")),
            superseded_by=str(superseding.public_id) if superseding else "",
            children=0 if operation.resource_id else operation.children.count(),
        )
    )


def _step_facts(step: Step, unreachable_since: datetime | None) -> StepFacts:
    return StepFacts(
        kind=StepKind(step.kind),
        state=StepState(step.state),
        node=step.node.name if step.node else "",
        node_unreachable_since=unreachable_since,
        generation=f"{step.epoch}.{step.generation}",
        sent_at=step.sent_at,
        unknown_since=step.unknown_since,
        attempts=step.attempts,
        reason=step.reason,
        message=step.message,
        progress=step.progress,
    )
