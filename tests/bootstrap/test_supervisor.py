"""The supervisor with real, trivial children, and what it leaves when it is killed itself."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from infra.bootstrap.children import back_off
from infra.bootstrap.leftovers import end_leftovers, find_leftovers
from infra.bootstrap.places import CHECKOUT, Places
from infra.bootstrap.record import ProcessRecord, Record, is_held, read_record, write_record
from infra.bootstrap.systemprocesses import SystemProcess, find_process, is_alive
from tests.waiting import wait_until

SLEEPER = ("sleep", "1000")


@contextmanager
def supervising(data: Path, *argv: str) -> Iterator[subprocess.Popen[str]]:
    program = Path(__file__).with_name("supervised.py")
    popen = subprocess.Popen(
        [sys.executable, str(program), str(data), *argv],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT)},
    )
    try:
        yield popen
    finally:
        if popen.poll() is None:
            popen.terminate()
        popen.wait(20)
        end_leftovers(find_leftovers(Places(data)))


def ready_record(places: Places) -> Record | None:
    record = read_record(places)
    return record if record and record.ready and record.processes[0].pid else None


def wait_for_child(places: Places, *, other_than: int = 0) -> ProcessRecord:
    def changed() -> ProcessRecord | None:
        record = ready_record(places)
        return record.processes[0] if record and record.processes[0].pid != other_than else None

    found = wait_until(changed, what="a running child in the record")
    assert found
    return found


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path)


def test_a_killed_child_is_started_again_and_counted(places: Places) -> None:
    with supervising(places.data, *SLEEPER):
        first = wait_for_child(places)
        assert first.restarts == 0
        os.kill(first.pid, signal.SIGKILL)
        second = wait_for_child(places, other_than=first.pid)
        assert second.restarts == 1
        assert is_alive(SystemProcess(second.pid, second.start_ticks))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_request_to_stop_ends_the_children_first(places: Places, number: signal.Signals) -> None:
    with supervising(places.data, *SLEEPER) as supervisor:
        child = wait_for_child(places)
        supervisor.send_signal(number)
        assert supervisor.wait(20) == 0
        assert find_process(child.pid) is None
        assert read_record(places) is None
        assert not is_held(places)
        assert supervisor.stdout is not None
        assert f"stopped by {number.name}" in supervisor.stdout.read()


def test_a_child_that_ignores_the_request_is_ended_by_force(places: Places) -> None:
    deaf = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)\n"
    script = f"{deaf}while True: signal.pause()"
    with supervising(places.data, sys.executable, "-c", script) as supervisor:
        child = wait_for_child(places)
        log = places.log / "child.log"
        wait_until(lambda: "deaf" in log.read_text(), what="the child to be deaf")
        supervisor.terminate()
        supervisor.wait(20)
        assert find_process(child.pid) is None


def test_what_a_child_started_ends_with_it(places: Places) -> None:
    script = "sleep 1000 & echo $! > grandchild; wait"
    with supervising(places.data, "sh", "-c", script):
        child = wait_for_child(places)
        path = places.data / "grandchild"
        pid = int(wait_until(lambda: path.exists() and path.read_text(), what="its number"))
        os.kill(child.pid, signal.SIGKILL)
        wait_for_child(places, other_than=child.pid)
        wait_until(lambda: find_process(pid) is None, what="the grandchild's end")


def test_a_program_that_is_gone_for_a_while_is_tried_again(places: Places) -> None:
    program, aside = places.data / "sleeper", places.data / "aside"
    program.write_text("#!/bin/sh\nexec sleep 1000\n")
    program.chmod(0o755)
    with supervising(places.data, str(program)) as supervisor:
        first = wait_for_child(places)
        program.rename(aside)
        os.kill(first.pid, signal.SIGKILL)
        wait_until(lambda: (record := read_record(places)) and record.processes[0].restarts)
        assert supervisor.poll() is None
        aside.rename(program)
        wait_for_child(places, other_than=first.pid)


def test_only_one_supervisor_holds_an_installation(places: Places) -> None:
    with supervising(places.data, *SLEEPER):
        wait_for_child(places)
        with supervising(places.data, *SLEEPER) as second:
            assert second.wait(20) != 0
        assert is_held(places)


def test_children_of_a_killed_supervisor_are_found_and_ended(places: Places) -> None:
    with supervising(places.data, *SLEEPER) as supervisor:
        child = wait_for_child(places)
        supervisor.kill()
        supervisor.wait()
        assert not is_held(places)
        assert is_alive(SystemProcess(child.pid, child.start_ticks))
        # Also without the record: it may be from before the last start.
        places.record.unlink()
        leftovers = find_leftovers(places)
        assert child.pid in {process.pid for process in leftovers.others}
        end_leftovers(leftovers)
        assert find_process(child.pid) is None
        assert not find_leftovers(places)


def test_a_recorded_number_that_now_belongs_to_another_process_is_left_alone(
    places: Places,
) -> None:
    me = find_process(os.getpid())
    assert me is not None
    places.run.mkdir(parents=True)
    stale = ProcessRecord("child", me.pid, me.start_ticks - 1, 0.0, 0)
    write_record(places, Record(pid=1, port=1, ready=True, processes=(stale,)))
    assert not find_leftovers(places)


def test_back_off_doubles_up_to_half_a_minute() -> None:
    assert [back_off(n) for n in (0, 1, 2, 3)] == [0.5, 1.0, 2.0, 4.0]
    assert back_off(6) == back_off(1000) == 30.0
