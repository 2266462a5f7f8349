"""The lives of steps and operations, as tables. Pure.

A step moves by events; an operation is never given a state, it is summed up from its steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType


class StepState(StrEnum):
    """Where a step stands. `unknown` means: sent, and we do not know what came of it."""

    UNSENT = "unsent"
    SENT = "sent"
    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    DONE = "done"
    REFUSED = "refused"
    CANCELLED = "cancelled"


class StepEvent(StrEnum):
    """What may happen to a step."""

    SEND = "send"
    ACKNOWLEDGE = "acknowledge"
    CONFIRM = "confirm"
    REFUSE = "refuse"
    LOSE = "lose"
    FIND_UNDONE = "find_undone"
    SUPERSEDE = "supersede"
    CANCEL = "cancel"


class OperationState(StrEnum):
    """What a person sees of an operation."""

    QUEUED = "queued"
    RUNNING = "running"
    RECONCILING = "reconciling"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


_S, _E = StepState, StepEvent

FINISHED_STEPS = frozenset({_S.DONE, _S.REFUSED, _S.CANCELLED})
FINISHED_OPERATIONS = frozenset(
    {OperationState.SUCCEEDED, OperationState.FAILED, OperationState.CANCELLED}
)
OPEN_OPERATIONS = frozenset(OperationState) - FINISHED_OPERATIONS
IN_FLIGHT = frozenset({_S.SENT, _S.ACKNOWLEDGED, _S.UNKNOWN})
"""Something may be happening on a node on behalf of such a step."""

STEP_TRANSITIONS: Mapping[tuple[StepState, StepEvent], StepState] = MappingProxyType(
    {
        (_S.UNSENT, _E.SEND): _S.SENT,
        # A local step is done in the transaction that records it; nothing is in flight between.
        (_S.UNSENT, _E.CONFIRM): _S.DONE,
        (_S.UNSENT, _E.REFUSE): _S.REFUSED,
        (_S.UNSENT, _E.CANCEL): _S.CANCELLED,
        (_S.SENT, _E.ACKNOWLEDGE): _S.ACKNOWLEDGED,
        (_S.SENT, _E.CONFIRM): _S.DONE,
        (_S.SENT, _E.REFUSE): _S.REFUSED,
        (_S.SENT, _E.LOSE): _S.UNKNOWN,
        (_S.ACKNOWLEDGED, _E.ACKNOWLEDGE): _S.ACKNOWLEDGED,
        (_S.ACKNOWLEDGED, _E.CONFIRM): _S.DONE,
        (_S.ACKNOWLEDGED, _E.REFUSE): _S.REFUSED,
        (_S.ACKNOWLEDGED, _E.LOSE): _S.UNKNOWN,
        # Only evidence moves a step out of unknown; a clock never does.
        (_S.UNKNOWN, _E.LOSE): _S.UNKNOWN,
        (_S.UNKNOWN, _E.ACKNOWLEDGE): _S.ACKNOWLEDGED,
        (_S.UNKNOWN, _E.CONFIRM): _S.DONE,
        (_S.UNKNOWN, _E.REFUSE): _S.REFUSED,
        (_S.UNKNOWN, _E.FIND_UNDONE): _S.UNSENT,
        # The agent holds a newer declaration, so it refuses this one for ever.
        (_S.SENT, _E.SUPERSEDE): _S.CANCELLED,
        (_S.ACKNOWLEDGED, _E.SUPERSEDE): _S.CANCELLED,
        (_S.UNKNOWN, _E.SUPERSEDE): _S.CANCELLED,
        # Late repeats of what is already known change nothing; saying so is a decision.
        (_S.DONE, _E.ACKNOWLEDGE): _S.DONE,
        (_S.DONE, _E.CONFIRM): _S.DONE,
        (_S.DONE, _E.LOSE): _S.DONE,
        (_S.REFUSED, _E.ACKNOWLEDGE): _S.REFUSED,
        (_S.REFUSED, _E.REFUSE): _S.REFUSED,
        (_S.REFUSED, _E.LOSE): _S.REFUSED,
        (_S.CANCELLED, _E.CANCEL): _S.CANCELLED,
        (_S.CANCELLED, _E.SUPERSEDE): _S.CANCELLED,
        (_S.CANCELLED, _E.ACKNOWLEDGE): _S.CANCELLED,
        (_S.CANCELLED, _E.LOSE): _S.CANCELLED,
    }
)


class IllegalTransition(ValueError):
    """The event is not defined in this state."""

    def __init__(self, state: StepState, event: StepEvent) -> None:
        super().__init__(f"A step that is {state} cannot {event}.")
        self.state = state
        self.event = event


def advance(state: StepState, event: StepEvent) -> StepState:
    """Return the state after the event. Raises IllegalTransition."""
    try:
        return STEP_TRANSITIONS[state, event]
    except KeyError:
        raise IllegalTransition(state, event) from None


def summarize(steps: Iterable[StepState]) -> OperationState:
    """Sum up an operation from its steps: finished exactly when all of them are.

    An operation without steps had nothing to do on any node, and has succeeded.
    """
    states = list(steps)
    seen = set(states)
    if _S.UNKNOWN in seen:
        return OperationState.RECONCILING
    if seen <= FINISHED_STEPS:
        return _summarize_finished(seen)
    if seen <= {_S.UNSENT}:
        return OperationState.QUEUED
    return OperationState.RUNNING


def _summarize_finished(seen: set[StepState]) -> OperationState:
    if _S.REFUSED in seen:
        return OperationState.FAILED
    if _S.CANCELLED in seen:
        return OperationState.CANCELLED
    return OperationState.SUCCEEDED
