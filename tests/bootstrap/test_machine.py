"""The two commands as a person types them: `up`, `status`, `down`, on this very machine."""

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.bootstrap.leftovers import find_leftovers
from infra.bootstrap.ports import is_free
from infra.bootstrap.record import read_record
from infra.bootstrap.systemprocesses import find_process
from tests.bootstrap.machines import Machine, free_ports
from tests.waiting import wait_until

pytestmark = pytest.mark.machine


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="infra-machine-", ignore_cleanup_errors=True) as folder:
        machine = Machine(Path(folder).resolve(), free_ports(above=19000))
        first = machine.up()
        assert first.returncode == 0, first.stdout + first.stderr
        assert "Password" in first.stdout
        yield machine
        machine.manage("down", "--guests")


def test_it_runs_in_the_background_and_says_so(machine: Machine) -> None:
    machine.wait_until_well()
    told = machine.manage("status")
    assert told.returncode == 0
    for name in ("postgres", "redis", "web", "edge", "worker-1", "worker-2", "beat", "agent"):
        assert f" {name} " in told.stdout
    assert "restarting" not in told.stdout


def test_up_again_says_that_it_is_up(machine: Machine) -> None:
    before = read_record(machine.places)
    again = machine.up()
    assert again.returncode == 0
    assert "Already up" in again.stdout
    assert read_record(machine.places) == before


def test_another_installation_on_its_ports_is_refused_before_anything_starts(
    machine: Machine,
) -> None:
    with tempfile.TemporaryDirectory(prefix="infra-machine-") as folder:
        other = Machine(Path(folder).resolve(), machine.port)
        refused = other.up()
        assert refused.returncode == 1
        assert f"port {machine.port} (console and API)" in refused.stderr
        assert not other.places.cluster.exists()


def test_a_killed_process_of_each_kind_comes_back(machine: Machine) -> None:
    record = read_record(machine.places)
    assert record is not None
    for process in record.processes:
        if process.name not in {"postgres", "redis"}:
            os.kill(process.pid, signal.SIGKILL)

    def all_are_back() -> bool:
        now = read_record(machine.places)
        return now is not None and all(
            process.restarts > 0 and process.pid
            for process in now.processes
            if process.name not in {"postgres", "redis"}
        )

    wait_until(all_are_back, seconds=90, what="every process to be started again")
    machine.wait_until_well()


def test_after_kill_9_of_the_supervisor_up_ends_what_was_left_and_starts_anew(
    machine: Machine,
) -> None:
    record = read_record(machine.places)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: find_process(record.pid) is None, what="the supervisor's end")
    assert find_leftovers(machine.places)
    assert machine.manage("status").returncode == 3
    # Without a port: it is remembered.
    again = machine.manage("up", "--bare", "--detach")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "that an earlier run left" in again.stdout
    assert "Password" not in again.stdout
    machine.wait_until_well()


def test_down_stops_everything_and_leaves_nothing(machine: Machine) -> None:
    done = machine.manage("down")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not find_leftovers(machine.places)
    assert is_free(machine.port)
    assert machine.manage("status").returncode == 3
    log = (machine.places.log / "postgres.log").read_text()
    assert log.rstrip().endswith("database system is shut down")
