"""Every reachable state of an operation is explained in its own words."""

from datetime import UTC, datetime
from itertools import product

import pytest

from operations.explanation import OperationFacts, StepFacts, explain
from operations.planning.steps import StepKind
from operations.transitions import OperationState, StepState, summarize

NOW = datetime(2030, 1, 1, 12, 4, tzinfo=UTC)


def facts(step_state, kind=StepKind.APPLY, **changes):
    step = StepFacts(
        kind=kind,
        state=step_state,
        node="n1",
        generation="1.7",
        sent_at=None if step_state == StepState.UNSENT else NOW,
        unknown_since=NOW if step_state == StepState.UNKNOWN else None,
        message="It said so.",
    )
    return OperationFacts(
        **(
            {
                "kind": "droplet.start",
                "subject": "droplet hello",
                "state": summarize([step_state]),
                "actor": "ada",
                "cause": "person",
                "reason": "",
                "created_at": NOW,
                "steps": (step,),
            }
            | changes
        )
    )


@pytest.mark.parametrize(("state", "kind"), list(product(StepState, StepKind)))
def test_every_step_state_has_its_words(state, kind):
    explanation = explain(facts(state, kind))
    assert (
        explanation.asked
        == "ada asked for droplet.start of droplet hello at 2030-01-01 12:04:00 UTC."
    )
    assert explanation.known
    assert explanation.next


def test_no_two_step_states_read_alike():
    assert len({explain(facts(state)).known for state in StepState}) == len(StepState)


def test_no_two_operation_states_say_the_same_comes_next():
    words = {explain(facts(StepState.DONE, state=state)).next for state in OperationState}
    assert len(words) == len(OperationState)


def test_an_unknown_outcome_says_since_when_and_which_node():
    (words,) = explain(facts(StepState.UNKNOWN)).unknown
    assert "node n1" in words
    assert "since 2030-01-01 12:04:00" in words


def test_an_unknown_outcome_is_never_called_failed():
    explanation = explain(facts(StepState.UNKNOWN))
    everything = " ".join([*explanation.known, *explanation.unknown, explanation.next])
    assert "fail" not in everything.lower()


@pytest.mark.parametrize("state", list(OperationState))
def test_no_advice_is_to_edit_the_database(state):
    explanation = explain(facts(StepState.DONE, state=state))
    assert "database" not in " ".join([explanation.next, *explanation.safe]).lower()


def test_a_whole_does_not_offer_what_only_its_parts_can():
    queued = explain(facts(StepState.UNSENT, children=2))
    assert "one by one" in queued.safe[0]
    failed = explain(facts(StepState.REFUSED, children=2))
    assert "the part that failed" in failed.safe[0]
