"""The tables of steps and operations."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operations.parents import summarize_children
from operations.transitions import (
    FINISHED_OPERATIONS,
    FINISHED_STEPS,
    STEP_TRANSITIONS,
    IllegalTransition,
    OperationState,
    StepEvent,
    StepState,
    advance,
    summarize,
)

PAIRS = list(itertools.product(StepState, StepEvent))


@pytest.mark.parametrize(("state", "event"), PAIRS)
def test_every_pair_is_listed_or_refused_by_name(state, event):
    if (state, event) in STEP_TRANSITIONS:
        assert advance(state, event) in StepState
    else:
        with pytest.raises(IllegalTransition, match=f"{state} cannot {event}"):
            advance(state, event)


@pytest.mark.parametrize("state", sorted(FINISHED_STEPS))
def test_a_finished_step_never_moves_again(state):
    ways = {after for (before, _), after in STEP_TRANSITIONS.items() if before == state}
    assert ways <= {state}


@pytest.mark.parametrize("state", sorted(set(StepState) - FINISHED_STEPS))
def test_every_open_state_can_reach_an_end(state):
    reached = {state}
    while True:
        more = {after for (before, _), after in STEP_TRANSITIONS.items() if before in reached}
        if more <= reached:
            break
        reached |= more
    assert reached & FINISHED_STEPS


def test_only_evidence_leaves_unknown():
    leaving = {
        event
        for (before, event), after in STEP_TRANSITIONS.items()
        if before == StepState.UNKNOWN and after != StepState.UNKNOWN
    }
    assert leaving == {
        StepEvent.ACKNOWLEDGE,
        StepEvent.CONFIRM,
        StepEvent.REFUSE,
        StepEvent.FIND_UNDONE,
        StepEvent.SUPERSEDE,
    }


@given(st.lists(st.sampled_from(StepState), max_size=6))
def test_an_operation_is_finished_exactly_when_all_its_steps_are(states):
    finished = summarize(states) in FINISHED_OPERATIONS
    assert finished == all(state in FINISHED_STEPS for state in states)


@given(st.lists(st.sampled_from(StepState), min_size=1, max_size=6))
def test_an_unknown_step_shows_as_reconciling(states):
    reconciling = summarize(states) == OperationState.RECONCILING
    assert reconciling == (StepState.UNKNOWN in states)


@given(st.lists(st.sampled_from(OperationState), max_size=6))
def test_a_whole_is_finished_exactly_when_all_its_parts_are(states):
    finished = summarize_children(states) in FINISHED_OPERATIONS
    assert finished == all(state in FINISHED_OPERATIONS for state in states)
