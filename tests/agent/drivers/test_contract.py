"""What every driver promises, asked of the fake and of libvirt with real guests alike."""

from __future__ import annotations

import threading
from uuid import UUID

import pytest

from agent.drivers.base import Absent, OutcomeUnknown, Present, Refused, Rejected, Unknown
from agent.protocol.observations import GuestPower
from tests.agent.declared import age
from tests.agent.drivers import sector
from tests.agent.drivers.listening import read_until, watch_end
from tests.agent.drivers.places import IMAGE, OTHER, Place, declared, stream_image, streaming

OFF = (GuestPower.STOPPED, GuestPower.CRASHED)


def test_what_was_never_made_is_absent(place: Place, web: UUID) -> None:
    assert place.driver.observe(web) == Absent()
    seen = place.driver.inventory()
    assert (seen.complete, seen.droplets, seen.found) == (True, (), ())
    assert place.driver.console_log(web) is None


def test_a_node_says_what_it_holds(place: Place) -> None:
    facts = place.driver.facts()
    assert facts.vcpus > 0
    assert facts.memory_mib > 0
    assert facts.disk_gib > 0
    assert (facts.accelerator, facts.problem) in {("tcg", ""), ("kvm", "")}
    assert facts.version


def test_an_image_counts_only_when_its_bytes_are_right(place: Place) -> None:
    wrong = sector.IMAGE[:-1] + b"x"
    with pytest.raises(Rejected) as caught:
        place.driver.fetch_image(IMAGE, lambda _image: streaming(wrong))
    assert caught.value.code == "image.checksum"
    with pytest.raises(Rejected) as caught:
        place.driver.fetch_image(IMAGE, lambda _image: streaming(sector.IMAGE[:-1]))
    assert caught.value.code == "image.size"
    assert not place.driver.has_image(IMAGE)


def test_an_image_is_fetched_once(place: Place) -> None:
    place.driver.fetch_image(IMAGE, stream_image)
    place.driver.fetch_image(IMAGE, lambda _image: pytest.fail("fetched again"))
    assert place.driver.has_image(IMAGE)


def test_a_transfer_that_breaks_leaves_no_image(place: Place) -> None:
    def broken(_image: object) -> object:
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        place.driver.fetch_image(IMAGE, broken)  # type: ignore[arg-type]
    assert not place.driver.has_image(IMAGE)


def test_a_disk_alone_is_seen_as_one_and_can_be_removed(place: Place, web: UUID) -> None:
    place.driver.fetch_image(IMAGE, stream_image)
    place.driver.create_disk(declared(1))
    observed = place.driver.observe(web)
    assert isinstance(observed, Present)
    assert (observed.defined, observed.disk) == (False, True)
    assert observed.droplet.disk_gib == 1
    assert observed.droplet.image_sha256 == IMAGE.sha256
    assert [one.resource_id for one in place.driver.inventory().droplets] == [web]
    place.driver.remove(web)
    assert place.driver.observe(web) == Absent()


def test_a_disk_without_its_image_is_rejected(place: Place, web: UUID) -> None:
    with pytest.raises(Rejected) as caught:
        place.driver.create_disk(declared(1))
    assert caught.value.code == "image.missing"
    assert place.driver.observe(web) == Absent()


def test_every_step_of_a_life_may_come_twice(place: Place, web: UUID) -> None:
    it = declared(1, generation=3, restarts=2)
    place.driver.fetch_image(IMAGE, stream_image)
    for _ in range(2):
        place.driver.create_disk(it)
    for _ in range(2):
        place.driver.define(it)
    made = place.driver.observe(web)
    assert isinstance(made, Present)
    assert (made.defined, made.disk) == (True, True)
    assert made.droplet.generation == age(3)
    assert made.droplet.power is GuestPower.STOPPED
    assert (made.droplet.restarts, made.droplet.rebuilds) == (None, 0)
    assert (made.droplet.vcpus, made.droplet.memory_mib, made.droplet.disk_gib) == (1, 32, 1)

    for _ in range(2):
        place.driver.start(it)
    place.hear(web, b"HELLO sector")
    assert place.seen(web).power is GuestPower.RUNNING
    assert place.seen(web).restarts == 2

    for _ in range(2):
        place.driver.request_stop(web)
    place.wait_power(web, GuestPower.STOPPED)
    place.driver.request_stop(web)
    place.driver.force_stop(web)

    for _ in range(2):
        place.driver.remove(web)
    assert place.driver.observe(web) == Absent()
    assert place.driver.inventory().droplets == ()
    assert place.driver.console_log(web) is None
    assert place.files() == set()


def test_a_guest_can_be_cut_off(place: Place, web: UUID) -> None:
    place.run(declared(1))
    for _ in range(2):
        place.driver.force_stop(web)
        assert place.seen(web).power is GuestPower.STOPPED
    assert place.seen(web).restarts is None


def test_a_running_guest_tells_what_it_was_started_with(place: Place, web: UUID) -> None:
    place.run(declared(1, generation=1))
    larger = declared(1, generation=2, restarts=1, memory_mib=48, vcpus=2)
    place.driver.define(larger)
    running = place.seen(web)
    assert running.generation == age(2)
    assert (running.restarts, running.memory_mib, running.vcpus) == (0, 32, 1)

    place.driver.force_stop(web)
    place.driver.start(larger)
    again = place.seen(web)
    assert (again.restarts, again.memory_mib, again.vcpus) == (1, 48, 2)


def test_a_guest_under_other_restarts_is_not_taken_for_started(place: Place, web: UUID) -> None:
    place.run(declared(1))
    later = declared(1, generation=2, restarts=1)
    place.driver.define(later)
    with pytest.raises(Refused):
        place.driver.start(later)
    assert place.seen(web).restarts == 0


def test_a_rebuild_replaces_the_disk(place: Place, web: UUID) -> None:
    place.run(declared(1))
    place.driver.force_stop(web)
    again = declared(1, generation=2, rebuilds=1, restarts=1)
    for _ in range(2):
        place.driver.create_disk(again)
    assert place.seen(web).rebuilds == 1
    place.driver.define(again)
    place.driver.start(again)
    place.hear(web, b"HELLO", times=2)
    assert (place.seen(web).rebuilds, place.seen(web).restarts) == (1, 1)


def test_a_disk_grows_and_never_shrinks(place: Place, web: UUID) -> None:
    place.make(declared(1))
    for _ in range(2):
        place.driver.grow_disk(declared(1, generation=2, disk_gib=3))
        assert place.seen(web).disk_gib == 3
    with pytest.raises(Rejected):
        place.driver.grow_disk(declared(1, generation=3, disk_gib=2))
    assert place.seen(web).disk_gib == 3


def test_nothing_is_taken_from_a_guest_that_runs(place: Place, web: UUID) -> None:
    place.run(declared(1))
    for change in (
        lambda: place.driver.remove(web),
        lambda: place.driver.create_disk(declared(1, generation=2, rebuilds=1)),
        lambda: place.driver.grow_disk(declared(1, generation=2, disk_gib=5)),
    ):
        with pytest.raises(Refused):
            change()
    assert place.seen(web).power is GuestPower.RUNNING
    assert (place.seen(web).rebuilds, place.seen(web).disk_gib) == (0, 1)


def test_what_is_not_defined_is_not_started(place: Place, web: UUID) -> None:
    place.driver.fetch_image(IMAGE, stream_image)
    place.driver.create_disk(declared(1))
    with pytest.raises(Refused):
        place.driver.start(declared(1))


def test_stopping_or_removing_what_is_not_there_is_no_error(place: Place, web: UUID) -> None:
    place.driver.request_stop(web)
    place.driver.force_stop(web)
    place.driver.remove(web)
    assert place.driver.observe(web) == Absent()


def test_a_guest_without_its_disk_does_not_start(place: Place, web: UUID) -> None:
    place.driver.fetch_image(IMAGE, stream_image)
    place.driver.define(declared(1))
    with pytest.raises((Refused, OutcomeUnknown)):
        place.driver.start(declared(1))
    observed = place.driver.observe(web)
    assert isinstance(observed, Present)
    assert (observed.defined, observed.disk) == (True, False)
    assert observed.droplet.power in OFF
    place.driver.remove(web)
    assert place.files() == set()


def test_a_guest_killed_by_hand_is_seen_as_crashed(place: Place, web: UUID) -> None:
    it = place.run(declared(1))
    place.kill(web)
    place.wait_power(web, GuestPower.CRASHED)
    assert place.seen(web).restarts is None
    place.driver.start(it)
    assert place.seen(web).power is GuestPower.RUNNING


def test_a_guest_started_by_hand_is_seen_as_running(place: Place, web: UUID) -> None:
    place.make(declared(1, restarts=4))
    place.start_by_hand(web)
    assert (place.seen(web).power, place.seen(web).restarts) == (GuestPower.RUNNING, 4)


def test_a_guest_nobody_declared_is_listed_and_left_alone(place: Place, web: UUID) -> None:
    place.add_foreign()
    place.run(declared(1))
    place.driver.force_stop(web)
    place.driver.remove(web)
    seen = place.driver.inventory()
    assert (seen.complete, seen.droplets) == (True, ())
    assert [(guest.name, guest.power) for guest in seen.found] == [
        (place.found_name, GuestPower.RUNNING)
    ]


def test_the_droplet_of_another_node_is_found_and_left_alone(place: Place, web: UUID) -> None:
    it = place.run(declared(1))
    other = place.another_driver(node_id=OTHER)
    seen = other.inventory()
    assert seen.droplets == ()
    assert [(guest.resource_id, guest.power) for guest in seen.found] == [(web, GuestPower.RUNNING)]
    assert isinstance(other.observe(web), Unknown)
    for change in (
        lambda: other.create_disk(declared(1, generation=9, rebuilds=5)),
        lambda: other.define(declared(1, generation=9)),
        lambda: other.start(it),
        lambda: other.request_stop(web),
        lambda: other.force_stop(web),
        lambda: other.remove(web),
    ):
        with pytest.raises(Refused):
            change()
    assert place.seen(web).power is GuestPower.RUNNING
    assert place.seen(web).generation == it.generation


def test_guests_outlive_the_agent(place: Place, web: UUID) -> None:
    place.run(declared(1, restarts=1))
    again = place.another_driver()
    assert again.observe(web) == place.driver.observe(web)
    assert again.inventory() == place.driver.inventory()
    again.force_stop(web)
    assert place.seen(web).power is GuestPower.STOPPED


def test_the_console_carries_bytes_both_ways(place: Place, web: UUID) -> None:
    place.run(declared(1))
    console = place.driver.open_console(web)
    console.write(b"one two three")
    assert b"one two three" in read_until(console, b"three")
    console.close()
    assert watch_end(console).wait(10)
    console.close()


def test_a_console_ends_with_its_guest(place: Place, web: UUID) -> None:
    place.run(declared(1))
    ended = watch_end(place.driver.open_console(web))
    place.driver.force_stop(web)
    assert ended.wait(30)


def test_the_newest_console_takes_over(place: Place, web: UUID) -> None:
    place.run(declared(1))
    older_ended = watch_end(place.driver.open_console(web))
    newer = place.driver.open_console(web)
    assert older_ended.wait(30)
    newer.write(b"mine")
    assert b"mine" in read_until(newer, b"mine")
    newer.close()


def test_only_a_running_guest_has_a_console(place: Place, web: UUID) -> None:
    with pytest.raises(Refused):
        place.driver.open_console(web)
    place.make(declared(1))
    with pytest.raises(Refused):
        place.driver.open_console(web)


def test_a_change_by_hand_wakes_who_watches(place: Place, web: UUID) -> None:
    place.make(declared(1))
    place.driver.inventory()
    woken = threading.Event()
    place.driver.watch(woken.set)
    woken.clear()
    place.start_by_hand(web)
    assert woken.wait(30)
