"""The first run as the README tells it: from nothing to a guest that says hello."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.bootstrap.guests import running_guests, virsh
from infra.bootstrap.places import VENV
from infra.bootstrap.record import is_held, read_choices, read_record
from tests.bootstrap.machines import Machine, free_ports
from tests.waiting import wait_until

pytestmark = [pytest.mark.machine, pytest.mark.libvirt]


def infra(machine: Machine, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("INFRA_")}
    return subprocess.run(
        [VENV / "bin" / "infra", *words],
        capture_output=True,
        text=True,
        env={**environment, "INFRA_DATA_DIR": str(machine.places.data)},
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with tempfile.TemporaryDirectory(prefix="infra-first-", ignore_cleanup_errors=True) as folder:
        machine = Machine(Path(folder).resolve(), free_ports(above=20000))
        try:
            yield machine
        finally:
            # The control plane first: while it stands it brings back a guest that was ended by hand.
            machine.manage("down")
            uri = read_choices(machine.places).libvirt_uri
            for guest in running_guests(read_choices(machine.places)):
                virsh(uri, "destroy", guest.uuid)
            for uuid in machine.guests:
                virsh(uri, "undefine", uuid)


def test_up_declares_the_example_and_its_guest_says_hello(machine: Machine) -> None:
    first = machine.manage("up", "--detach", "--port", str(machine.port))
    assert first.returncode == 0, first.stdout + first.stderr
    assert "says 'HELLO hello up" in first.stdout
    guests = running_guests(read_choices(machine.places))
    machine.guests = [guest.uuid for guest in guests]
    assert len(guests) == 1


def test_the_commands_it_names_work_at_once(machine: Machine) -> None:
    droplets = infra(machine, "get", "droplets")
    assert droplets.returncode == 0, droplets.stderr
    assert "hello" in droplets.stdout
    assert "running" in droplets.stdout
    assert infra(machine, "describe", "droplet", "hello").returncode == 0


def test_ctrl_c_stops_the_control_plane_and_leaves_the_guest(machine: Machine) -> None:
    record = read_record(machine.places)
    assert record is not None
    os.kill(record.pid, signal.SIGINT)
    wait_until(lambda: not is_held(machine.places), seconds=60, what="the supervisor's end")
    assert [g.uuid for g in running_guests(read_choices(machine.places))] == machine.guests


def test_up_again_finds_the_same_data_and_the_same_guest(machine: Machine) -> None:
    again = machine.manage("up", "--detach")
    assert again.returncode == 0, again.stdout + again.stderr
    assert "Building" not in again.stdout
    assert "Password" not in again.stdout
    assert "hello" in infra(machine, "get", "droplets").stdout
    assert [g.uuid for g in running_guests(read_choices(machine.places))] == machine.guests


def test_down_with_guests_stops_them_and_up_brings_them_back(machine: Machine) -> None:
    down = machine.manage("down", "--guests")
    assert down.returncode == 0, down.stdout + down.stderr
    assert running_guests(read_choices(machine.places)) == []
    assert machine.manage("up", "--detach").returncode == 0
    wait_until(
        lambda: running_guests(read_choices(machine.places)), seconds=60, what="the guest to run"
    )
