"""Drift, repair back-off, settling, liveness, lifecycles."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.lifecycles import (
    NODE_TRANSITIONS,
    IllegalNodeTransition,
    NodeEvent,
    NodeLifecycle,
    advance_node,
)
from operations.liveness import AWAY_AFTER, silence, watching_since
from operations.planning.droplets import (
    LONGEST_REPAIR_DELAY,
    STEPS,
    DropletOperation,
    Seen,
    Wanted,
    find_drift,
    repair_due,
)
from operations.planning.settling import LedgerFacts, settle
from operations.transitions import StepEvent

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RUNNING = Wanted("running", (1, 5))


def seen(power="running", *, absent=False, ledger_absent=False):
    return Seen(absent, power, (1, 5), ledger_absent)


def test_not_having_seen_anything_is_not_drift():
    assert find_drift(RUNNING, None) is None
    assert find_drift(RUNNING, seen(power="")) is None


def test_a_guest_that_is_as_declared_has_not_drifted():
    assert find_drift(RUNNING, seen()) is None
    assert find_drift(Wanted("stopped", (1, 5)), seen("stopped")) is None


def test_what_differs_is_said_in_words():
    assert "declared running" in find_drift(RUNNING, seen("stopped"))
    assert "crashed" in find_drift(RUNNING, seen("crashed"))
    assert "declared stopped" in find_drift(Wanted("stopped", (1, 5)), seen("running"))
    assert "no longer lists" in find_drift(RUNNING, seen(absent=True))


def test_a_paused_guest_is_left_alone():
    assert find_drift(RUNNING, seen("paused")) is None


def test_repairs_are_opened_at_once_and_ever_later_after_failures():
    assert repair_due(NOW, 0, now=NOW)
    assert not repair_due(NOW, 1, now=NOW + timedelta(seconds=14))
    assert repair_due(NOW, 1, now=NOW + timedelta(seconds=15))
    assert not repair_due(NOW, 3, now=NOW + timedelta(seconds=59))
    assert repair_due(NOW, 50, now=NOW + LONGEST_REPAIR_DELAY)


generations = st.tuples(st.integers(1, 3), st.integers(1, 5))


@given(generations, generations, st.booleans(), st.booleans(), st.booleans())
def test_a_lost_step_is_sent_again_only_when_the_ledger_never_saw_it(
    sent, held, wants_absent, absent, converged
):
    answer = settle(sent, wants_absent, LedgerFacts(held, absent, converged))
    assert (answer.event == StepEvent.FIND_UNDONE) == (held < sent) == answer.seal
    assert (answer.event == StepEvent.SUPERSEDE) == (held > sent)
    if answer.event == StepEvent.CONFIRM:
        assert held == sent
        assert converged
        assert absent == wants_absent


def test_the_control_planes_own_absence_is_no_silence_of_a_node():
    last_seen = NOW - timedelta(hours=2)
    back = watching_since(NOW - timedelta(hours=3), NOW - timedelta(hours=1), now=NOW)
    assert back == NOW
    assert silence(last_seen, back, now=NOW + timedelta(seconds=10)) == timedelta(seconds=10)


def test_watching_goes_on_while_sweeps_do():
    since = NOW - timedelta(hours=1)
    assert watching_since(since, NOW - AWAY_AFTER, now=NOW) == since


@pytest.mark.parametrize("state", NodeLifecycle)
@pytest.mark.parametrize("event", NodeEvent)
def test_every_event_of_a_node_is_listed_or_refused(state, event):
    if (state, event) in NODE_TRANSITIONS:
        assert advance_node(state, event) in NodeLifecycle
    else:
        with pytest.raises(IllegalNodeTransition):
            advance_node(state, event)


def test_every_operation_of_a_droplet_has_its_steps():
    assert set(STEPS) == set(DropletOperation)
