"""The fake hypervisor misbehaves as declared, and outlives every process that uses it."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

import pytest

from agent.drivers import DRIVERS, guestfiles, open_driver
from agent.drivers.base import Absent, Hypervisor, OutcomeUnknown, Refused, Unknown
from agent.drivers.fake import FakeHypervisor
from agent.drivers.faults import FAULTS, CallFaults, Faults
from agent.protocol.observations import GuestPower
from tests.agent.drivers.places import INSTALLATION, NODE, FakePlace, declared, stream_image


@pytest.fixture
def place(tmp_path: Path) -> FakePlace:
    return FakePlace(tmp_path / "fake")


def misbehave(place: FakePlace, *, seed: int = 0, **calls: CallFaults) -> None:
    faults = Faults(seed=seed, calls=calls)
    (place.folder / FAULTS).write_text(faults.model_dump_json())


def changes(place: FakePlace, call: str) -> int:
    """Return how often a call of this name really changed something."""
    return sum(one.changed for one in guestfiles.calls(place.folder) if one.call == call)


def test_what_is_refused_is_not_done(place: FakePlace, web: UUID) -> None:
    it = place.make(declared(1))
    misbehave(place, start=CallFaults(refuse=1.0))
    with pytest.raises(Refused):
        place.driver.start(it)
    assert place.seen(web).power is GuestPower.STOPPED
    assert changes(place, "start") == 0


def test_what_is_done_with_a_lost_answer_is_done_once(place: FakePlace, web: UUID) -> None:
    it = place.make(declared(1))
    misbehave(place, start=CallFaults(lose=1.0))
    for _ in range(3):
        with pytest.raises(OutcomeUnknown):
            place.driver.start(it)
    assert place.seen(web).power is GuestPower.RUNNING
    assert changes(place, "start") == 1


def test_a_fault_strikes_as_often_as_declared(place: FakePlace, web: UUID) -> None:
    it = place.make(declared(1))
    misbehave(place, start=CallFaults(refuse=1.0, times=2))
    for driver in (place.driver, place.another_driver()):
        with pytest.raises(Refused):
            driver.start(it)
    place.driver.start(it)
    assert place.seen(web).power is GuestPower.RUNNING


def test_an_unreadable_hypervisor_is_unknown_and_never_empty(place: FakePlace, web: UUID) -> None:
    place.run(declared(1))
    misbehave(place, inventory=CallFaults(unreadable=1.0), observe=CallFaults(unreadable=1.0))
    assert isinstance(place.driver.observe(web), Unknown)
    assert not place.driver.inventory().complete


def test_the_same_seed_gives_the_same_misfortunes(tmp_path: Path) -> None:
    def outcomes(folder: Path, seed: int) -> list[str]:
        place = FakePlace(folder)
        it = place.make(declared(1))
        misbehave(place, seed=seed, define=CallFaults(refuse=0.3, lose=0.3))
        return [ending(lambda: place.driver.define(it)) for _ in range(40)]

    first = outcomes(tmp_path / "a", 1)
    assert first == outcomes(tmp_path / "b", 1)
    assert first != outcomes(tmp_path / "c", 2)
    assert set(first) == {"done", "Refused", "OutcomeUnknown"}


def ending(change: Callable[[], None]) -> str:
    try:
        change()
    except (Refused, OutcomeUnknown) as error:
        return type(error).__name__
    return "done"


_START = """
import sys
from pathlib import Path
from tests.agent.drivers.places import FakePlace, declared
FakePlace(Path(sys.argv[1])).driver.start(declared(int(sys.argv[2])))
"""


def start_in_another_process(place: FakePlace, number: int) -> subprocess.Popen[bytes]:
    root = Path(__file__).parents[3]
    return subprocess.Popen(
        [sys.executable, "-c", _START, str(place.folder), str(number)], cwd=root
    )


def test_a_process_killed_in_the_act_leaves_what_it_did(place: FakePlace, web: UUID) -> None:
    place.make(declared(1))
    misbehave(place, start=CallFaults(die=1.0, times=1))
    assert start_in_another_process(place, 1).wait(60) == -signal.SIGKILL
    assert place.seen(web).power is GuestPower.RUNNING
    place.driver.start(declared(1))
    assert changes(place, "start") == 1
    place.hear(web, b"HELLO sector")


def test_many_processes_start_one_guest_once(place: FakePlace) -> None:
    place.make(declared(1))
    started = [start_in_another_process(place, 1) for _ in range(4)]
    assert [process.wait(60) for process in started] == [0] * 4
    assert changes(place, "start") == 1


def test_a_power_cut_stops_every_guest_and_keeps_every_disk(place: FakePlace) -> None:
    for number in (1, 2):
        place.run(declared(number))
    guestfiles.cut_power(place.folder)
    seen = place.driver.inventory().droplets
    assert [one.restarts for one in seen] == [None, None]
    assert [one.disk_gib for one in seen] == [1, 1]


def test_a_guest_lost_with_its_disk_is_absent(place: FakePlace, web: UUID) -> None:
    place.run(declared(1))
    guestfiles.lose_guest(place.folder, web)
    assert place.driver.observe(web) == Absent()


def test_a_guest_that_does_not_hear_its_button_runs_on(place: FakePlace, web: UUID) -> None:
    place.run(declared(1))
    (place.folder / FAULTS).write_text(Faults(stop_ignored=True).model_dump_json())
    place.driver.request_stop(web)
    assert place.seen(web).power is GuestPower.RUNNING
    place.driver.force_stop(web)
    assert place.seen(web).power is GuestPower.STOPPED


def test_images_are_taken_on_trust_unless_they_are_to_be_verified(tmp_path: Path) -> None:
    trusting = FakeHypervisor(tmp_path, installation_id=INSTALLATION, node_id=NODE)
    it = declared(1)
    trusting.fetch_image(it.image, lambda _image: pytest.fail("read without need"))
    assert trusting.has_image(it.image)


def test_drivers_are_opened_by_name(tmp_path: Path) -> None:
    assert set(DRIVERS) == {"fake", "libvirt"}
    opened: Hypervisor = open_driver(
        "fake", state_dir=tmp_path, installation_id=INSTALLATION, node_id=NODE
    )
    opened.fetch_image(declared(1).image, stream_image)
    assert opened.inventory().complete
    with pytest.raises(ValueError, match="hyper-x"):
        open_driver("hyper-x", state_dir=tmp_path, installation_id=INSTALLATION, node_id=NODE)


def test_the_fake_needs_no_binding_of_libvirt(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['libvirt'] = None\n"
        "from pathlib import Path; from uuid import UUID; from agent.drivers import open_driver\n"
        "open_driver('fake', state_dir=Path(sys.argv[1]), installation_id=UUID(int=1),"
        " node_id=UUID(int=2)).inventory()\n"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], cwd=root, check=True)
