"""What makes a droplet match its declaration."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.actions import (
    CreateDisk,
    Define,
    FetchImage,
    ForceStop,
    GrowDisk,
    Remove,
    RequestStop,
    Start,
)
from agent.observed import Absent, Observed, Present, Unknown
from agent.planning.droplets import StopAsked, plan
from agent.planning.plans import Plan, Waiting
from agent.planning.repair import Licence, backoff_seconds, licence, may_repair_locally
from agent.protocol.declarations import Declaration, Power, StopPolicy
from agent.protocol.observations import GuestPower
from tests.agent.declared import WEB, World, absent, age, droplet, present, seen

STOPPED = Power.STOPPED


def plan_now(
    declared: Declaration,
    observed: Observed,
    *,
    image_ready: bool = True,
    stop: StopAsked | None = None,
) -> Plan:
    return plan(declared, observed, image_ready=image_ready, stop=stop)


def kinds(made: Plan) -> list[type]:
    return [type(action) for action in made.actions]


def test_a_new_droplet_is_fetched_made_defined_and_started() -> None:
    made = plan_now(droplet(), Absent(), image_ready=False)

    assert kinds(made) == [FetchImage, CreateDisk, Define, Start]


def test_a_new_stopped_droplet_is_not_started() -> None:
    assert kinds(plan_now(droplet(power=STOPPED), Absent())) == [CreateDisk, Define]


def test_a_disk_without_definition_is_kept_and_defined() -> None:
    observed = Present(seen(droplet(), GuestPower.STOPPED), defined=False, disk=True)

    assert kinds(plan_now(droplet(), observed)) == [Define, Start]


def test_a_guest_that_died_is_started() -> None:
    for power in (GuestPower.STOPPED, GuestPower.CRASHED):
        assert kinds(plan_now(droplet(), present(droplet(), power))) == [Start]


def test_a_new_generation_alone_rewrites_the_definition_of_a_running_guest() -> None:
    assert kinds(plan_now(droplet(2), present(droplet(1)))) == [Define]


@pytest.mark.parametrize(
    "changes",
    [{"restarts": 1}, {"rebuilds": 1}, {"vcpus": 2}, {"memory_mib": 256}, {"disk_gib": 2}],
)
def test_what_needs_a_guest_to_be_off_asks_it_to_stop_first(changes: dict[str, int]) -> None:
    assert kinds(plan_now(droplet(2, **changes), present(droplet(1)))) == [RequestStop]


def test_a_stopped_guest_is_resized_then_started() -> None:
    wanted = droplet(2, vcpus=2, disk_gib=3)

    made = plan_now(wanted, present(droplet(1), GuestPower.STOPPED))

    assert kinds(made) == [GrowDisk, Define, Start]


def test_a_disk_never_shrinks() -> None:
    observed = present(droplet(1, disk_gib=9), GuestPower.STOPPED)

    assert GrowDisk not in kinds(plan_now(droplet(2, disk_gib=1), observed))


def test_a_rebuild_makes_the_disk_anew() -> None:
    made = plan_now(droplet(2, rebuilds=1), present(droplet(1), GuestPower.STOPPED))

    assert kinds(made) == [CreateDisk, Define, Start]


def test_a_disk_that_vanished_is_told_of_and_not_made_anew() -> None:
    observed = Present(seen(droplet(), GuestPower.STOPPED), defined=True, disk=False)

    made = plan_now(droplet(), observed)

    assert made.actions == ()
    assert made.problem is not None
    assert made.problem.code == "disk.missing"


def test_a_declaration_older_than_the_droplet_does_nothing() -> None:
    for old in (droplet(1, restarts=4), absent(1)):
        made = plan_now(old, present(droplet(2)))

        assert made.actions == ()
        assert made.problem is not None
        assert made.problem.code == "generation.behind"


def test_a_paused_guest_is_left_alone() -> None:
    made = plan_now(droplet(), present(droplet(), GuestPower.PAUSED))

    assert made.actions == ()
    assert made.waiting_on is not None
    assert made.waiting_on.on is Waiting.GUEST_PAUSED


def test_a_guest_that_ignores_the_request_is_not_cut_off_without_leave() -> None:
    wanted = droplet(2, power=STOPPED, stop=StopPolicy(grace_seconds=60, force=False))
    running = present(droplet(1))

    made = plan_now(wanted, running, stop=StopAsked(3600, 1))
    again = plan_now(wanted, running, stop=StopAsked(3600, 11))

    assert made.waiting_on is not None
    assert "not allowed" in made.waiting_on.text
    assert kinds(again) == [RequestStop]


def test_a_guest_is_cut_off_only_after_its_grace() -> None:
    wanted = droplet(2, power=STOPPED, stop=StopPolicy(grace_seconds=60, force=True))
    running = present(droplet(1))

    before = plan_now(wanted, running, stop=StopAsked(59, 5))
    after = plan_now(wanted, running, stop=StopAsked(60, 5))

    assert before.actions == ()
    assert before.waiting_on is not None
    assert before.waiting_on.seconds == 1
    assert kinds(after) == [ForceStop]


def test_a_deletion_cuts_off_at_once_and_removes_only_what_is_off() -> None:
    assert kinds(plan_now(absent(), present(droplet(1)))) == [ForceStop]
    assert kinds(plan_now(absent(), present(droplet(1), GuestPower.STOPPED))) == [Remove]
    assert plan_now(absent(), Absent()).converged


POWERS = st.sampled_from(list(GuestPower))
STOPS = st.builds(StopPolicy, grace_seconds=st.integers(0, 90), force=st.booleans())
ASKED = st.none() | st.builds(StopAsked, st.floats(0, 500), st.floats(0, 500))
WORLDS = st.sampled_from([World(Absent()), World(Absent(), image=True)])
"""Nodes without and with the image."""


class Situation(TypedDict):
    image_ready: bool
    stop: StopAsked | None


SITUATIONS = st.fixed_dictionaries({"image_ready": st.booleans(), "stop": ASKED})


@st.composite
def declarations(draw: st.DrawFn, *, counter: int = 5) -> Declaration:
    if draw(st.booleans()):
        return absent(counter, stop=draw(STOPS))
    return droplet(
        counter,
        power=draw(st.sampled_from(list(Power))),
        vcpus=draw(st.integers(1, 3)),
        memory_mib=draw(st.sampled_from([128, 256])),
        disk_gib=draw(st.integers(1, 3)),
        restarts=draw(st.integers(0, 3)),
        rebuilds=draw(st.integers(0, 2)),
        stop=draw(STOPS),
    )


@st.composite
def observations(draw: st.DrawFn) -> Present | Absent:
    if draw(st.booleans()):
        return Absent()
    before = draw(declarations(counter=draw(st.integers(1, 5))).filter(is_droplet))
    return present(before, draw(POWERS))


def is_droplet(declared: Declaration) -> bool:
    return declared.kind == "droplet"


@given(declarations(), st.text(), SITUATIONS)
def test_nothing_is_done_to_what_was_not_seen(
    declared: Declaration, reason: str, situation: Situation
) -> None:
    made = plan(declared, Unknown(reason), **situation)

    assert made.actions == ()
    assert made.waiting_on is not None


@given(declarations(), observations(), SITUATIONS)
def test_equal_inputs_give_equal_plans(
    declared: Declaration, observed: Observed, situation: Situation
) -> None:
    first = plan(declared, observed, **situation)

    assert first == plan(declared, observed, **situation)


@given(declarations(), observations(), SITUATIONS)
def test_every_plan_acts_waits_or_names_a_problem_and_never_two_of_them(
    declared: Declaration, observed: Observed, situation: Situation
) -> None:
    made = plan(declared, observed, **situation)

    parts = [bool(made.actions), made.waiting_on is not None, made.problem is not None]
    assert sum(parts) <= 1


@given(declarations(), observations(), SITUATIONS)
def test_no_guest_is_cut_off_unless_the_policy_says_so(
    declared: Declaration, observed: Observed, situation: Situation
) -> None:
    made = plan(declared, observed, **situation)

    if ForceStop in kinds(made):
        assert declared.stop.force


@given(declarations(counter=1), SITUATIONS)
def test_a_late_declaration_never_acts(declared: Declaration, situation: Situation) -> None:
    made = plan(declared, present(droplet(2)), **situation)

    assert made.actions == ()


FAULTS = st.sampled_from(["works", "refuses", "loses the answer"])


@given(declarations(), observations(), WORLDS, st.lists(FAULTS, max_size=12))
def test_the_droplet_converges_whatever_fails_on_the_way(
    declared: Declaration, observed: Present | Absent, node: World, faults: list[str]
) -> None:
    world = replace(node, observed=observed)
    asked_for: float | None = None
    for turn in range(len(faults) + 30):
        stop = None if asked_for is None else StopAsked(asked_for, asked_for)
        made = plan(declared, world.observed, image_ready=world.image, stop=stop)
        if made.converged or made.problem:
            break
        if made.waiting_on is not None:
            if made.waiting_on.on is Waiting.GUEST_PAUSED:
                return  # only a person may end this wait
            asked_for = (asked_for or 0) + made.waiting_on.seconds
            continue
        if isinstance(made.actions[0], RequestStop):
            asked_for = asked_for or 0.0
        if turn >= len(faults) or faults[turn] != "refuses":
            world = world.after(made.actions[0])

    assert made.converged, made
    after = plan(declared, world.observed, image_ready=world.image, stop=None)
    assert after == Plan()


def test_a_paused_guest_that_must_go_is_cut_off_if_that_is_allowed() -> None:
    paused = present(droplet(1), GuestPower.PAUSED)

    assert kinds(plan_now(absent(), paused)) == [ForceStop]
    refused = plan_now(absent(stop=StopPolicy(force=False)), paused)
    assert refused.waiting_on is not None
    assert refused.waiting_on.on is Waiting.GUEST_PAUSED


def test_a_repair_is_local_only_when_nobody_else_can_decide() -> None:
    assert not may_repair_locally(29.9, after_seconds=30)
    assert may_repair_locally(30, after_seconds=30)

    def leave(*, ordered: bool = False, absent: bool = False, reached: bool = True, silent=0.0):
        return licence(ordered=ordered, absent=absent, reached=reached, link_silent_seconds=silent)

    assert leave(ordered=True) is Licence.ORDERED
    assert leave() is Licence.NONE
    assert leave(silent=31) is Licence.CUT_OFF
    assert leave(absent=True, reached=False, silent=31) is Licence.CUT_OFF
    assert leave(absent=True, silent=31) is Licence.NONE


def test_rests_grow_to_a_limit_and_differ() -> None:
    def rest(attempt: int, chance: float = 0.0) -> float:
        return backoff_seconds(attempt, chance=chance, first=1, longest=60)

    assert [rest(n) for n in (1, 2, 3, 4)] == [1, 2, 4, 8]
    assert rest(5000) == 60
    assert rest(3, 0.5) == 3


def test_ages_are_what_they_say() -> None:
    assert age(1) < age(2) < age(1, epoch=2)
    assert droplet().resource_id == WEB
