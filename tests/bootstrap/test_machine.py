"""The two commands as a person types them: `up`, `status`, `down`, on this very machine."""

import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.bootstrap.leftovers import find_leftovers
from infra.bootstrap.places import CHECKOUT, Places
from infra.bootstrap.ports import Ports, is_free
from infra.bootstrap.record import read_record
from infra.bootstrap.systemprocesses import find_process
from tests.waiting import wait_until

pytestmark = pytest.mark.machine

UP_SECONDS = 150


def free_ports(*, above: int) -> int:
    """Return the first of three free ports in a row."""
    bases = range(above, above + 900, 3)
    return next(b for b in bases if all(is_free(port) for _, port in Ports(b).named()))


class Machine:
    """One installation, driven through ./manage.py only."""

    def __init__(self, data: Path, port: int) -> None:
        self.places, self.port = Places(data), port

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("INFRA_")}
        return subprocess.run(
            [sys.executable, str(CHECKOUT / "manage.py"), *words, "--data-dir", self.places.data],
            capture_output=True,
            text=True,
            env=environment,
            timeout=UP_SECONDS,
            check=False,
        )

    def up(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.manage("up", "--bare", "--detach", "--port", str(self.port), *words)

    def health(self) -> int:
        url = f"http://127.0.0.1:{self.port}/readyz"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return int(answer.status)


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
    assert machine.health() == 200
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

    wait_until(all_are_back, seconds=30, what="every process to be started again")
    wait_until(lambda: not is_free(machine.port), seconds=30, what="the web to listen")
    assert machine.health() == 200


def test_after_kill_9_of_the_supervisor_up_ends_what_was_left_and_starts_anew(
    machine: Machine,
) -> None:
    record = read_record(machine.places)
    assert record is not None
    os.kill(record.pid, signal.SIGKILL)
    wait_until(lambda: find_process(record.pid) is None, what="the supervisor's end")
    assert find_leftovers(machine.places)
    assert machine.manage("status").returncode == 3
    again = machine.up()
    assert again.returncode == 0, again.stdout + again.stderr
    assert "that an earlier run left" in again.stdout
    assert "Password" not in again.stdout
    assert machine.health() == 200


def test_down_stops_everything_and_leaves_nothing(machine: Machine) -> None:
    done = machine.manage("down")
    assert done.returncode == 0, done.stdout + done.stderr
    assert not find_leftovers(machine.places)
    assert is_free(machine.port)
    assert machine.manage("status").returncode == 3
    log = (machine.places.log / "postgres.log").read_text()
    assert log.rstrip().endswith("database system is shut down")


def test_the_port_is_remembered(machine: Machine) -> None:
    done = machine.manage("up", "--bare", "--detach")
    assert done.returncode == 0, done.stdout + done.stderr
    assert machine.health() == 200
