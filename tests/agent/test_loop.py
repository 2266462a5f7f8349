"""The loop over the fake hypervisor: what is declared becomes true, whatever happens."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import pytest

from agent.drivers.base import Rejected
from agent.drivers.fake import (
    add_foreign_guest,
    calls,
    cut_power,
    kill_guest,
    lose_guest,
    runs,
    start_guest,
)
from agent.protocol.declarations import Power, StopPolicy
from agent.protocol.messages import StepOutcome
from agent.protocol.observations import FoundGuest, GuestPower
from tests.agent.declared import IMAGE, WEB, absent, droplet
from tests.agent.working import Working
from tests.waiting import wait_until


@pytest.fixture
def agent(tmp_path: Path) -> Working:
    return Working(tmp_path)


def declare_faults(agent: Working, **faults: object) -> None:
    (agent.guests / "faults.json").write_text(json.dumps(faults))


def made(agent: Working, call: str) -> int:
    return sum(1 for each in calls(agent.guests) if each.call == call and each.changed)


def test_a_declared_droplet_runs_and_its_step_ends_with_evidence(agent: Working) -> None:
    with agent.running():
        result = agent.result(agent.order(droplet()))

    assert result.outcome is StepOutcome.DONE
    assert result.observed is not None
    assert result.observed.power is GuestPower.RUNNING
    assert agent.entry(WEB).converged
    assert runs(agent.guests, WEB)


def test_a_life_of_a_droplet(agent: Working) -> None:
    with agent.running():
        agent.result(agent.order(droplet(1)))
        agent.result(agent.order(droplet(2, power=Power.STOPPED)))
        assert not runs(agent.guests, WEB)
        agent.result(agent.order(droplet(3, vcpus=2, disk_gib=4)))
        agent.result(agent.order(droplet(4, vcpus=2, disk_gib=4, restarts=1)))
        rebuilt = agent.result(agent.order(droplet(5, vcpus=2, disk_gib=4, restarts=1, rebuilds=1)))
        assert rebuilt.observed is not None
        assert (rebuilt.observed.restarts, rebuilt.observed.rebuilds) == (1, 1)
        gone = agent.result(agent.order(absent(6)))

    assert gone.outcome is StepOutcome.DONE
    assert gone.observed is None
    assert agent.fake.inventory().droplets == ()


def test_a_guest_that_does_not_listen_is_cut_off_only_by_leave(agent: Working) -> None:
    declare_faults(agent, stop_ignored=True)
    with agent.running():
        agent.result(agent.order(droplet(1)))
        gentle = agent.order(droplet(2, power=Power.STOPPED, stop=StopPolicy(grace_seconds=0)))
        wait_until(lambda: "not allowed" in agent.turns.progress().get(WEB, ""))
        assert runs(agent.guests, WEB)
        firm = agent.order(
            droplet(3, power=Power.STOPPED, stop=StopPolicy(grace_seconds=1, force=True))
        )
        assert agent.result(firm).outcome is StepOutcome.DONE

    assert agent.results()[gentle].reason == "superseded"
    assert made(agent, "force_stop") == 1


@pytest.mark.parametrize("fault", ["refuse", "lose", "unreadable"])
def test_failures_on_the_way_are_overcome_and_nothing_is_done_twice(
    agent: Working, fault: str
) -> None:
    declare_faults(agent, seed=3, calls={"*": {fault: 0.5, "times": 2}})
    with agent.running():
        result = agent.result(agent.order(droplet()), seconds=30)

    assert result.outcome is StepOutcome.DONE
    assert [made(agent, call) for call in ("create_disk", "define", "start")] == [1, 1, 1]


def test_what_cannot_heal_ends_the_step_with_its_code(agent: Working) -> None:
    declare_faults(agent, calls={"create_disk": {"reject": 1.0, "code": "storage.full"}})
    with agent.running():
        result = agent.result(agent.order(droplet(1)))
        assert (result.outcome, result.reason) == (StepOutcome.REFUSED, "storage.full")
        declare_faults(agent)
        again = agent.result(agent.order(droplet(2)))

    assert again.outcome is StepOutcome.DONE
    assert "step.refused" in agent.events()


def test_a_failure_that_may_pass_is_told_while_it_lasts(agent: Working) -> None:
    declare_faults(agent, calls={"start": {"refuse": 1.0, "message": "no such bridge"}})
    with agent.running():
        step = agent.order(droplet())
        wait_until(lambda: "no such bridge" in agent.turns.progress().get(WEB, ""))
        assert step not in agent.results()
        declare_faults(agent)
        agent.result(step)

    assert agent.turns.progress() == {}


def test_words_that_cannot_be_sent_are_made_fit(agent: Working) -> None:
    class Garbled:
        def __getattr__(self, name: str):
            return getattr(agent.fake, name)

        def start(self, _droplet: object) -> None:
            raise Rejected("odd", "odd \udcff name\0 " + "x" * 5000)

    agent.open(Garbled())
    with agent.running():
        result = agent.result(agent.order(droplet()))

    assert result.message.startswith("odd ? name ")
    assert result.model_dump_json()


def test_an_image_that_is_not_what_was_declared_ends_the_step(tmp_path: Path) -> None:
    @contextmanager
    def wrong(image):
        raise Rejected("image.checksum", "It has another checksum.")
        yield

    agent = Working(tmp_path, stream=wrong)
    agent.fake._verify_images = True
    with agent.running():
        result = agent.result(agent.order(droplet()))

    assert (result.outcome, result.reason) == (StepOutcome.REFUSED, "image.checksum")


class SlowImages:
    """A hypervisor whose images come only when a test lets them."""

    def __init__(self, agent: Working, slow: str) -> None:
        self._fake = agent.fake
        self._slow = slow
        self.let = threading.Event()
        self.fetches = 0

    def __getattr__(self, name: str):
        return getattr(self._fake, name)

    def fetch_image(self, image, stream) -> None:
        self.fetches += 1
        if image.sha256 == self._slow:
            assert self.let.wait(20)
        self._fake.fetch_image(image, stream)


def test_a_slow_image_holds_up_only_those_that_need_it(agent: Working) -> None:
    slow = SlowImages(agent, IMAGE.sha256)
    agent.open(slow)
    quick = IMAGE.model_copy(update={"sha256": "cd" * 32})
    with agent.running():
        waiting = [agent.order(droplet(resource_id=UUID(int=n))) for n in range(10, 22)]
        other = agent.order(droplet(resource_id=UUID(int=99), image=quick))
        assert agent.result(other).outcome is StepOutcome.DONE
        assert not any(step in agent.results() for step in waiting)
        slow.let.set()
        for step in waiting:
            assert agent.result(step).outcome is StepOutcome.DONE

    assert slow.fetches == 2


def test_a_guest_killed_by_hand_is_left_to_the_control_plane_while_that_is_heard(
    agent: Working,
) -> None:
    with agent.running():
        agent.result(agent.order(droplet(1)))
        kill_guest(agent.guests, WEB)
        wait_until(lambda: not agent.entry(WEB).converged, what="the drift to be seen")
        wait_until(lambda: "droplet.drifted" in agent.events())
        assert made(agent, "start") == 1
        agent.result(agent.order(droplet(2)))

    assert runs(agent.guests, WEB)


def test_a_node_that_is_cut_off_repairs_by_itself_and_nothing_else(agent: Working) -> None:
    other = UUID(int=2)
    with agent.running():
        agent.result(agent.order(droplet(1)))
        agent.result(agent.order(droplet(1, resource_id=other, power=Power.STOPPED)))
        agent.silent = 31
        kill_guest(agent.guests, WEB)
        start_guest(agent.guests, other)
        wait_until(lambda: runs(agent.guests, WEB) and not runs(agent.guests, other))
        wait_until(lambda: agent.entry(WEB).converged and agent.entry(other).converged)

    assert "droplet.repaired_locally" in agent.events()


def test_what_was_deleted_and_brought_back_by_hand_is_told_of_and_left(agent: Working) -> None:
    with agent.running():
        agent.result(agent.order(droplet(1)))
        kept = (agent.guests / "guests" / f"{WEB}.json").read_text()
        agent.result(agent.order(absent(2)))
        agent.silent = 1000
        (agent.guests / "guests" / f"{WEB}.json").write_text(kept)
        wait_until(lambda: "droplet.drifted" in agent.events())

    assert made(agent, "remove") == 1
    assert len(agent.fake.inventory().droplets) == 1


def test_a_droplet_lost_with_its_disk_is_made_anew_by_order(agent: Working) -> None:
    with agent.running():
        agent.result(agent.order(droplet(1)))
        lose_guest(agent.guests, WEB)
        wait_until(lambda: not agent.entry(WEB).converged)
        agent.result(agent.order(droplet(2)))

    assert runs(agent.guests, WEB)


def test_stopping_the_agent_stops_no_guest_and_the_next_one_touches_nothing(
    tmp_path: Path,
) -> None:
    first = Working(tmp_path)
    with first.running():
        first.result(first.order(droplet()))
    first.database.close()
    before = len(calls(first.guests))

    second = Working(tmp_path, silent=1000)
    with second.running():
        wait_until(lambda: second.loop._before, what="the first survey")

    assert runs(second.guests, WEB)
    assert len(calls(second.guests)) == before


def test_after_a_power_cut_without_control_plane_what_should_run_runs_and_nothing_else(
    tmp_path: Path,
) -> None:
    idle, ended, foreign = UUID(int=2), UUID(int=3), UUID(int=4)
    first = Working(tmp_path)
    with first.running():
        first.result(first.order(droplet(1)))
        first.result(first.order(droplet(1, resource_id=idle, power=Power.STOPPED)))
        first.result(first.order(droplet(1, resource_id=ended)))
        first.result(first.order(absent(2, resource_id=ended)))
    first.database.close()
    stranger = FoundGuest(
        name="theirs", native_id=str(foreign), power=GuestPower.STOPPED, vcpus=1, memory_mib=1
    )
    add_foreign_guest(first.guests, stranger)
    cut_power(first.guests)

    second = Working(tmp_path, silent=1000)
    with second.running():
        wait_until(lambda: runs(second.guests, WEB), what="the guest that should run")
        wait_until(lambda: second.entry(WEB).converged)

    assert not runs(second.guests, idle)
    inventory = second.fake.inventory()
    assert inventory.found == (stranger,)
    assert {each.resource_id for each in inventory.droplets} == {WEB, idle}


def test_many_droplets_converge_under_seeded_misfortune(agent: Working) -> None:
    declare_faults(
        agent,
        seed=11,
        calls={"*": {"refuse": 0.15, "lose": 0.15, "unreadable": 0.1, "times": 12}},
    )
    keys = [UUID(int=n) for n in range(100, 115)]
    with agent.running():
        steps = [agent.order(droplet(1, resource_id=key)) for key in keys]
        for step in steps:
            assert agent.result(step, seconds=40).outcome is StepOutcome.DONE
        steps = [agent.order(absent(2, resource_id=key)) for key in keys]
        for step in steps:
            assert agent.result(step, seconds=40).outcome is StepOutcome.DONE

    declare_faults(agent)
    assert agent.fake.inventory().droplets == ()
