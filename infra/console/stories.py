"""An operation told in words: what is so, why, what may safely be done. Pure.

A silence is never told as a failure: what is not known is said to be not known, and since when.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from inventory.models import NodeCondition
from operations.models import Operation, Step
from operations.planning.steps import StepKind
from operations.reads import OperationDetail, waiting_words
from operations.transitions import FINISHED_STEPS, OperationState, StepState


@dataclass(frozen=True, slots=True)
class Story:
    """The headline of an operation, and why. What is safe to do, `operations.explanation` says."""

    tone: str
    icon: str
    headline: str
    since: datetime | None
    text: str


_TITLES: Mapping[str, str] = MappingProxyType(
    {
        StepKind.RESERVE: "Find a place and claim its room",
        StepKind.APPLY: "Make it so on the node",
        StepKind.RELEASE: "Give the room back",
        StepKind.VERIFY: "Check what was declared",
        StepKind.FORGET: "Forget it",
    }
)


@dataclass(frozen=True, slots=True)
class StepLine:
    """One step of the timeline. `seconds` is how long it took, None while it is not over."""

    step: Step
    title: str
    text: str
    seconds: float | None
    began: datetime | None


def step_lines(detail: OperationDetail) -> Sequence[StepLine]:
    """Return the timeline of an operation."""
    return [_line(step, detail.unreachable) for step in detail.steps]


def _line(step: Step, unreachable: Mapping[UUID, NodeCondition]) -> StepLine:
    title = _TITLES.get(step.kind, step.kind.capitalize())
    if step.kind == StepKind.APPLY and step.node is not None:
        title = f"Make it so on {step.node.name}"
    began = step.sent_at or step.created_at
    over = step.finished_at if step.state in FINISHED_STEPS else None
    seconds = (over - began).total_seconds() if over else None
    return StepLine(step, title, _step_text(step, unreachable), seconds, began)


def _step_text(step: Step, unreachable: Mapping[UUID, NodeCondition]) -> str:
    node = step.node.name if step.node else "its node"
    silent = step.node_id in unreachable
    match StepState(step.state):
        case StepState.UNSENT if step.ready and silent:
            return f"Waits for {node}, which is not reachable. It is handed out when it reports."
        case StepState.UNSENT if step.ready:
            return f"Ready; {node} takes it with its next poll."
        case StepState.UNSENT:
            return "Waits for the step before."
        case StepState.SENT:
            return f"Sent to {node}; not acknowledged yet."
        case StepState.ACKNOWLEDGED:
            return step.progress or f"{node} has written it down and is at work."
        case StepState.UNKNOWN:
            return (
                f"Sent to {node}, and the answer was lost. We compare its ledger and what it sees, "
                "and if it never arrived, send it anew under a newer number."
            )
        case _:
            return step.message


def story_of(detail: OperationDetail) -> Story:
    """Return the operation in words."""
    operation = detail.operation
    tell = _TELLERS.get(OperationState(operation.state), _running)
    return tell(operation, detail)


def _queued(operation: Operation, detail: OperationDetail) -> Story:
    del detail  # nothing has been sent, so the steps say nothing more
    waits = waiting_words(operation.waiting_on)
    if waits:
        return Story(
            "warn",
            "clock",
            "Waits",
            operation.created_at,
            waits,
        )
    return Story(
        "idle",
        "circle-dashed",
        "Queued",
        operation.created_at,
        "Nothing has been sent yet.",
    )


def _running(operation: Operation, detail: OperationDetail) -> Story:
    waits = waiting_words(operation.waiting_on)
    silent = [c.node_id for c in detail.unreachable.values()]
    step = next((s for s in detail.steps if s.node_id in silent and s.node), None)
    if step is not None and step.node is not None:
        return Story(
            "warn",
            "plug-connected-x",
            f"Waits for {step.node.name}, which is not reachable",
            detail.unreachable[step.node_id].since if step.node_id else None,
            "What was sent stays sent; it ends by what the node shows when it reports again.",
        )
    return Story(
        "warn" if waits else "busy",
        "clock" if waits else "loader-2",
        "Waits" if waits else "Under way",
        operation.started_at or operation.created_at,
        waits or "Each step ends by evidence, not by a timer.",
    )


def _reconciling(operation: Operation, detail: OperationDetail) -> Story:
    del operation  # what is uncertain is a step
    lost = next((s for s in detail.steps if s.state == StepState.UNKNOWN), None)
    node = lost.node.name if lost and lost.node else "the node"
    silent = lost is not None and lost.node_id in detail.unreachable
    doing = (
        f"{node} is not reachable. When it reports, its ledger tells whether the order arrived."
        if silent
        else f"We are asking {node} for its ledger, which tells whether the order arrived."
    )
    return Story(
        "warn",
        "circle-half-2",
        "Outcome unknown",
        lost.unknown_since if lost else None,
        f"An order was sent to {node} and the answer was lost. {doing}",
    )


def _succeeded(operation: Operation, detail: OperationDetail) -> Story:
    return Story(
        "ok",
        "circle-check",
        "Done, and seen to be done" if detail.steps else "Done",
        operation.finished_at,
        "Every step ended by evidence." if detail.steps else "It needed nothing from any node.",
    )


def _failed(operation: Operation, detail: OperationDetail) -> Story:
    refused = next((s for s in detail.steps if s.state == StepState.REFUSED), None)
    who = refused.node.name if refused and refused.node else "The control plane"
    return Story(
        "bad",
        "circle-x",
        f"{who} refused it",
        operation.finished_at,
        refused.message if refused else "A step was refused.",
    )


def _cancelled(operation: Operation, detail: OperationDetail) -> Story:
    del detail  # every step was cancelled before it was sent
    if operation.superseded_by is not None:
        newer = operation.superseded_by
        return Story(
            "idle",
            "ban",
            f"Overtaken by operation #{newer.public_id}",
            operation.finished_at,
            f"Somebody declared something newer ({newer.kind}) before this was sent.",
        )
    return Story(
        "idle",
        "ban",
        "Cancelled",
        operation.finished_at,
        "It was taken back before anything was sent, and what it declared with it.",
    )


_TELLERS = MappingProxyType(
    {
        OperationState.QUEUED: _queued,
        OperationState.RUNNING: _running,
        OperationState.RECONCILING: _reconciling,
        OperationState.SUCCEEDED: _succeeded,
        OperationState.FAILED: _failed,
        OperationState.CANCELLED: _cancelled,
    }
)
