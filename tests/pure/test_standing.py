"""How a droplet stands: what is not known is never guessed."""

from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from inventory.standing import Facts, OpenChange, Sight, StandingState, standing

NOW = datetime(2026, 1, 1, tzinfo=UTC)
POWERS = ("running", "stopped", "paused", "crashed", "")
SETTLED = {StandingState.RUNNING, StandingState.STOPPED}

sights = st.none() | st.builds(
    Sight, power=st.sampled_from(POWERS), absent=st.booleans(), seen_at=st.just(NOW)
)
changes = st.none() | st.builds(
    OpenChange,
    kind=st.sampled_from(["droplet.create", "droplet.stop", "droplet.delete"]),
    state=st.sampled_from(["queued", "running", "reconciling"]),
    waiting_on=st.sampled_from(["", "None of 3 nodes has room."]),
)
facts = st.builds(
    Facts,
    declared_power=st.sampled_from(["running", "stopped"]),
    declared_absent=st.booleans(),
    gone=st.booleans(),
    node=st.sampled_from(["", "n1"]),
    node_unreachable=st.booleans(),
    sight=sights,
    change=changes,
)


@given(facts)
def test_a_settled_word_needs_a_place_a_sight_and_nothing_under_way(given_facts: Facts) -> None:
    if standing(given_facts).state not in SETTLED:
        return
    assert given_facts.node
    assert not given_facts.node_unreachable
    assert given_facts.change is None
    assert given_facts.sight is not None
    assert not given_facts.sight.absent
    assert given_facts.sight.power == given_facts.declared_power


@given(facts)
def test_nothing_is_said_to_run_or_rest_on_a_node_that_is_silent(given_facts: Facts) -> None:
    if given_facts.node and given_facts.node_unreachable and not given_facts.gone:
        assert standing(given_facts).state in {StandingState.UNSEEN, StandingState.RECONCILING}


@given(facts)
def test_an_unknown_outcome_is_told_before_everything_but_the_end(given_facts: Facts) -> None:
    uncertain = given_facts.change is not None and given_facts.change.state == "reconciling"
    if uncertain and not given_facts.gone:
        assert standing(given_facts).state == StandingState.RECONCILING


@given(facts)
def test_every_standing_says_why(given_facts: Facts) -> None:
    assert standing(given_facts).why.endswith(".")


def settled(**changed: object) -> Facts:
    values: dict[str, object] = {
        "declared_power": "running",
        "declared_absent": False,
        "gone": False,
        "node": "n1",
        "node_unreachable": False,
        "sight": Sight("running", absent=False, seen_at=NOW),
        "change": None,
    }
    return Facts(**{**values, **changed})


def test_a_guest_killed_by_hand_differs() -> None:
    seen = standing(settled(sight=Sight("stopped", absent=False, seen_at=NOW)))

    assert seen.state == StandingState.DIFFERS
    assert seen.why == "Declared running, but seen stopped on n1."


def test_a_droplet_without_room_says_what_it_waits_for() -> None:
    change = OpenChange("droplet.create", "queued", "None of 3 nodes has room.")

    seen = standing(settled(node="", sight=None, change=change))

    assert (seen.state, seen.why) == (StandingState.WAITING, "None of 3 nodes has room.")


def test_one_that_its_node_no_longer_has_differs() -> None:
    assert standing(settled(sight=Sight("", absent=True, seen_at=NOW))).state == "differs"
