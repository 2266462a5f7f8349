"""An operation explains itself: what was asked, sent, is known, is unknown, comes next, is safe.

Pure: from frozen facts to sentences. Every reachable (operation state, step state) has its own
words; there is no generic fall-back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from operations.planning.steps import StepKind
from operations.transitions import OperationState, StepState


@dataclass(frozen=True)
class StepFacts:
    """A step as far as it must be explained. `node` is the node's name, "" for a local step."""

    kind: StepKind
    state: StepState
    node: str = ""
    node_unreachable_since: datetime | None = None
    generation: str = ""
    sent_at: datetime | None = None
    unknown_since: datetime | None = None
    attempts: int = 0
    reason: str = ""
    message: str = ""
    progress: str = ""


@dataclass(frozen=True)
class OperationFacts:
    """An operation as far as it must be explained."""

    kind: str
    subject: str
    state: OperationState
    actor: str
    cause: str
    reason: str
    created_at: datetime
    steps: tuple[StepFacts, ...]
    waiting_text: str = ""
    superseded_by: str = ""
    children: int = 0


@dataclass(frozen=True)
class Explanation:
    """Sentences for a person, in the order in which they are asked for."""

    asked: str
    sent: tuple[str, ...]
    known: tuple[str, ...]
    unknown: tuple[str, ...]
    next: str
    safe: tuple[str, ...] = field(default=())


STEP_WORDS: Mapping[StepKind, str] = {
    StepKind.RESERVE: "finding and claiming room on a node",
    StepKind.APPLY: "bringing the node to the declaration",
    StepKind.RELEASE: "giving the room back",
    StepKind.VERIFY: "checking the image's bytes",
    StepKind.FORGET: "taking it out of the inventory",
}

CAUSE_WORDS: Mapping[str, str] = {
    "person": "{actor} asked for {kind} of {subject} at {at}.",
    "retry": "{actor} asked to try {kind} of {subject} again at {at}.",
    "drift": "The reconcile loop opened {kind} of {subject} at {at}: {reason}",
}

NEXT_WORDS: Mapping[OperationState, str] = {
    OperationState.QUEUED: "A worker takes it up within seconds; nothing has been sent to a node.",
    OperationState.RUNNING: "The node works on it and reports; nothing needs to be done.",
    OperationState.RECONCILING: (
        "When the agent is next heard, its ledger decides: done, not done, or refused. What was "
        "not done is sent again under a newer generation, so that the old order is refused should "
        "it still arrive."
    ),
    OperationState.SUCCEEDED: "Nothing: it has ended, and the loop keeps watching the resource.",
    OperationState.FAILED: "Nothing by itself: it has ended. The declaration stands as it is.",
    OperationState.CANCELLED: "Nothing: it has ended without taking effect.",
}

SAFE_WORDS: Mapping[OperationState, tuple[str, ...]] = {
    OperationState.QUEUED: (
        "You may cancel it: nothing was sent, and the declaration before it comes back.",
        "You may declare something else: the newer declaration wins.",
    ),
    OperationState.RUNNING: ("You may declare something else: the newer declaration wins.",),
    OperationState.RECONCILING: (
        "You may wait: nothing is lost by it.",
        "You may declare something else: the newer declaration wins, whatever became of this one.",
        "Do not start the same guest by hand elsewhere: this node may be running it.",
    ),
    OperationState.SUCCEEDED: (),
    OperationState.FAILED: (
        "You may remove the cause and retry it.",
        "You may declare something else: the newer declaration wins.",
    ),
    OperationState.CANCELLED: ("You may declare again what you want.",),
}


def explain(operation: OperationFacts) -> Explanation:
    """Return the operation in words."""
    return Explanation(
        asked=_asked(operation),
        sent=tuple(_sent(step) for step in operation.steps if step.sent_at is not None),
        known=_known(operation),
        unknown=tuple(_unknown(s) for s in operation.steps if s.state == StepState.UNKNOWN),
        next=_next(operation),
        safe=_safe(operation),
    )


def _safe(operation: OperationFacts) -> tuple[str, ...]:
    """Return what may be done; one made of others is not taken back as a whole."""
    words = SAFE_WORDS[operation.state]
    if operation.children and operation.state == OperationState.QUEUED:
        return (
            "You may cancel its parts one by one, as long as they have not been sent.",
            *words[1:],
        )
    if operation.children and operation.state == OperationState.FAILED:
        return ("You may remove the cause and retry the part that failed.", *words[1:])
    return words


def _asked(operation: OperationFacts) -> str:
    words = CAUSE_WORDS.get(operation.cause, CAUSE_WORDS["person"]).format(
        actor=operation.actor,
        kind=operation.kind,
        subject=operation.subject or f"{operation.children} declarations",
        at=_time(operation.created_at),
        reason=operation.reason,
    )
    if operation.reason and operation.cause != "drift":
        words += f" Reason given: {operation.reason}"
    return words


def _sent(step: StepFacts) -> str:
    again = f", for the {_ordinal(step.attempts)} time" if step.attempts > 1 else ""
    at = _time(step.sent_at) if step.sent_at else ""
    return f"Generation {step.generation} was sent to node {step.node} at {at}{again}."


def _known(operation: OperationFacts) -> tuple[str, ...]:
    known = [_step_known(step) for step in operation.steps]
    if operation.superseded_by:
        known.append(f"Operation {operation.superseded_by} declared something newer.")
    if operation.waiting_text:
        known.append(f"It waits: {operation.waiting_text}")
    if operation.children:
        known.append(f"It is made of {operation.children} operations and ends with the last.")
    if not known:
        known.append("It changed the inventory only; no node had to do anything.")
    return tuple(known)


def _step_known(step: StepFacts) -> str:
    words = STEP_WORDS[step.kind]
    match step.state:
        case StepState.UNSENT:
            return f"Not begun: {words}."
        case StepState.SENT:
            return f"Sent, not yet acknowledged: {words}."
        case StepState.ACKNOWLEDGED:
            progress = f" It says: {step.progress}" if step.progress else ""
            return f"In the node's ledger, being carried out: {words}.{progress}"
        case StepState.UNKNOWN:
            return f"Outcome unknown: {words}."
        case StepState.DONE:
            return f"Done: {words}. {step.message}"
        case StepState.REFUSED:
            code = f" ({step.reason})" if step.reason else ""
            return f"Refused{code}: {words}. {step.message}"
        case StepState.CANCELLED:
            return f"Not carried out: {words}. {step.message}"


def _unknown(step: StepFacts) -> str:
    since = _time(step.unknown_since) if step.unknown_since else "now"
    words = (
        f"Whether node {step.node} has carried out generation {step.generation} is unknown since "
        f"{since}."
    )
    if step.node_unreachable_since is not None:
        words += f" Its agent has not been heard since {_time(step.node_unreachable_since)}."
    return words


def _next(operation: OperationFacts) -> str:
    if operation.state == OperationState.QUEUED and operation.waiting_text:
        return (
            "It is tried again as soon as what it waits for changes, and at least twice a minute."
        )
    return NEXT_WORDS[operation.state]


def _time(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def _ordinal(number: int) -> str:
    return {2: "second", 3: "third"}.get(number, f"{number}th")
