"""What only a real hypervisor can do to its driver: lose answers, hang, restart, be changed."""

from __future__ import annotations

import contextlib
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic
from uuid import UUID

import pytest

from agent.drivers.base import Absent, OutcomeUnknown, Present, Refused, Rejected, Unknown
from agent.protocol.declarations import ImageFormat
from agent.protocol.observations import GuestPower
from agent.protocol.values import Generation
from tests.agent.declared import age
from tests.agent.drivers.lab import Lab, uri_of
from tests.agent.drivers.places import (
    IMAGE,
    INSTALLATION,
    NODE,
    OTHER,
    LibvirtPlace,
    declared,
    foreign_xml,
    reference,
    stream_image,
    streaming,
)
from tests.agent.drivers.proxy import Procedure, Proxy
from tests.waiting import wait_until

pytestmark = pytest.mark.libvirt


def mark_xml(installation: UUID, *, resource: str = str(UUID(int=1)), counter: str = "1") -> str:
    """Return a mark as somebody else might have written it."""
    return (
        f"<d:droplet xmlns:d='urn:infra:droplet' installation='{installation}' node='{NODE}'"
        f" resource='{resource}' epoch='1' counter='{counter}' restarts='0' rebuilds='0' image=''/>"
    )


@pytest.fixture
def proxy(lab: Lab) -> Iterator[Proxy]:
    path = lab.base / "proxy"
    made = Proxy(path, lab.socket)
    yield made
    made.close()
    path.unlink()


@pytest.fixture
def far(make_libvirt_place: Callable[..., LibvirtPlace], proxy: Proxy) -> LibvirtPlace:
    """A node whose driver reaches libvirt through the proxy."""
    return make_libvirt_place(uri=uri_of(proxy.path))


def try_it(change: Callable[[], None]) -> None:
    """Make a change whose answer is lost: the driver may find out itself, or not know."""
    with contextlib.suppress(OutcomeUnknown):
        change()


def test_a_lost_answer_is_never_a_refusal(far: LibvirtPlace, proxy: Proxy, web: UUID) -> None:
    it = declared(1)
    far.driver.fetch_image(IMAGE, stream_image)
    far.driver.create_disk(it)

    proxy.lose_answer(Procedure.DEFINE_XML_FLAGS)
    try_it(lambda: far.driver.define(it))
    assert proxy.lost == 1
    assert isinstance(far.driver.observe(web), Present)

    proxy.lose_answer(Procedure.CREATE_WITH_FLAGS)
    try_it(lambda: far.driver.start(it))
    assert proxy.lost == 2
    far.wait_power(web, GuestPower.RUNNING)
    far.driver.start(it)
    far.hear(web, b"HELLO")

    proxy.lose_answer(Procedure.SHUTDOWN_FLAGS)
    try_it(lambda: far.driver.request_stop(web))
    assert proxy.lost == 3
    far.wait_power(web, GuestPower.STOPPED)

    far.driver.start(it)
    proxy.lose_answer(Procedure.DESTROY_FLAGS)
    try_it(lambda: far.driver.force_stop(web))
    assert proxy.lost == 4
    far.wait_power(web, GuestPower.STOPPED)

    proxy.lose_answer(Procedure.UNDEFINE_FLAGS)
    try_it(lambda: far.driver.remove(web))
    assert proxy.lost == 5
    far.driver.remove(web)
    assert far.driver.observe(web) == Absent()
    # Each thing was done once: the guest spoke once per start that was really made.
    assert far.lab.virsh("list", "--all", "--name") == ""


def test_a_libvirt_that_is_killed_comes_back_to_the_same_guests(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    libvirt_place.run(declared(1, generation=5, restarts=3))
    before = libvirt_place.seen(web)
    woken = threading.Event()
    libvirt_place.driver.watch(woken.set)
    emulators = lab.guest_pids()

    lab.kill_daemon()
    assert isinstance(libvirt_place.driver.observe(web), Unknown)
    assert not libvirt_place.driver.inventory().complete
    assert libvirt_place.driver.facts().problem
    with pytest.raises(OutcomeUnknown):
        libvirt_place.driver.force_stop(web)
    lab.start_daemon()

    assert libvirt_place.seen(web) == before
    assert lab.guest_pids() == emulators
    assert libvirt_place.driver.facts().problem == ""
    woken.clear()
    lab.virsh("suspend", f"infra-{web}")
    assert woken.wait(30)
    assert libvirt_place.seen(web).power is GuestPower.PAUSED


def test_a_libvirt_that_hangs_costs_a_bounded_wait(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    libvirt_place.run(declared(1))
    hasty = libvirt_place.another_driver(seconds=2)
    assert isinstance(hasty.observe(web), Present)
    lab.freeze()
    try:
        started = monotonic()
        assert isinstance(hasty.observe(web), Unknown)
        assert not hasty.inventory().complete
        with pytest.raises(OutcomeUnknown):
            hasty.request_stop(web)
        assert monotonic() - started < 20
    finally:
        lab.thaw()
    wait_until(lambda: isinstance(hasty.observe(web), Present), seconds=60)


def test_a_call_that_was_given_up_does_not_act_late(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    libvirt_place.run(declared(1))
    hasty = libvirt_place.another_driver(seconds=2)
    hasty.observe(web)
    lab.freeze()
    try:
        with pytest.raises(OutcomeUnknown):
            hasty.remove(web)
    finally:
        lab.thaw()
    lab.wait_until_it_answers()
    assert libvirt_place.seen(web).power is GuestPower.RUNNING


def test_a_name_of_ours_on_somebody_elses_guest_is_not_taken_over(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    lab.define(foreign_xml(f"infra-{web}"))
    assert isinstance(libvirt_place.driver.observe(web), Unknown)
    libvirt_place.driver.fetch_image(IMAGE, stream_image)
    with pytest.raises(Refused):
        libvirt_place.driver.define(declared(1))
    with pytest.raises(Refused):
        libvirt_place.driver.remove(web)
    assert [guest.name for guest in libvirt_place.driver.inventory().found] == [f"infra-{web}"]


@pytest.mark.parametrize(
    "metadata",
    [
        "<d:droplet xmlns:d='urn:infra:droplet'/>",
        mark_xml(INSTALLATION, resource="no", counter="-1"),
        mark_xml(INSTALLATION, counter="many"),
        "<other xmlns='urn:somebody'>text</other>",
    ],
)
def test_nonsense_in_the_metadata_of_others_is_just_a_found_guest(
    libvirt_place: LibvirtPlace, lab: Lab, metadata: str
) -> None:
    lab.define(foreign_xml("odd", metadata=metadata))
    seen = libvirt_place.driver.inventory()
    assert (seen.complete, seen.problem) == (True, "")
    assert [guest.name for guest in seen.found] == ["odd"]


def test_another_installations_droplet_is_found_with_whose_it_is(
    libvirt_place: LibvirtPlace, lab: Lab
) -> None:
    metadata = mark_xml(OTHER, resource=str(UUID(int=9)))
    lab.define(foreign_xml(f"infra-{UUID(int=9)}", metadata=metadata))
    (found,) = libvirt_place.driver.inventory().found
    assert (found.installation_id, found.resource_id) == (OTHER, UUID(int=9))


def test_a_running_guest_that_was_undefined_by_hand_is_defined_again(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    it = libvirt_place.run(declared(1, generation=7))
    lab.virsh("undefine", f"infra-{web}")
    observed = libvirt_place.driver.observe(web)
    assert isinstance(observed, Present)
    assert (observed.defined, observed.droplet.power) == (False, GuestPower.RUNNING)
    assert observed.droplet.generation == Generation(epoch=1, counter=1)
    libvirt_place.driver.define(it)
    observed = libvirt_place.driver.observe(web)
    assert isinstance(observed, Present)
    assert (observed.defined, observed.droplet.generation) == (True, it.generation)
    assert observed.droplet.restarts == 0


def test_memory_saved_under_earlier_restarts_is_not_brought_back(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    libvirt_place.run(declared(1))
    lab.virsh("managedsave", f"infra-{web}")
    assert libvirt_place.seen(web).power is GuestPower.STOPPED
    later = declared(1, generation=2, restarts=1)
    libvirt_place.driver.define(later)
    libvirt_place.driver.start(later)
    libvirt_place.hear(web, b"HELLO", times=2)
    assert libvirt_place.seen(web).restarts == 1


def test_a_guest_with_saved_memory_and_snapshots_is_removed_whole(
    libvirt_place: LibvirtPlace, lab: Lab, web: UUID
) -> None:
    libvirt_place.run(declared(1))
    lab.virsh("managedsave", f"infra-{web}")
    libvirt_place.driver.remove(web)
    assert libvirt_place.driver.observe(web) == Absent()
    assert lab.virsh("list", "--all", "--name") == ""
    assert libvirt_place.files() == set()


def test_a_guest_too_large_for_the_machine_type_is_refused(
    libvirt_place: LibvirtPlace, web: UUID
) -> None:
    libvirt_place.make(declared(1))
    with pytest.raises(Refused):
        libvirt_place.driver.define(declared(1, generation=2, vcpus=4000))
    assert libvirt_place.seen(web).generation == age(1)


def test_the_files_of_a_droplet_are_closed_to_others(
    libvirt_place: LibvirtPlace, web: UUID
) -> None:
    libvirt_place.run(declared(1, user_data="a secret"))
    droplet = libvirt_place.folder / "storage" / "droplets" / str(web)
    secret = [path for path in droplet.iterdir() if path.name.startswith(("root", "seed"))]
    readable = [path.name for path in secret if path.stat().st_mode & 0o007]
    assert [name for name in readable if not name.endswith(".json")] == []


def test_an_image_larger_than_the_disk_is_rejected(
    libvirt_place: LibvirtPlace, tmp_path: Path
) -> None:
    image = tmp_path / "large"
    subprocess.run(["qemu-img", "create", "-q", "-f", "qcow2", str(image), "1025M"], check=True)
    data = image.read_bytes()
    large = reference(data, ImageFormat.QCOW2)
    libvirt_place.driver.fetch_image(large, lambda _image: streaming(data))
    with pytest.raises(Rejected) as caught:
        libvirt_place.driver.create_disk(declared(1, image=large))
    assert caught.value.code == "disk.too_small"
    assert libvirt_place.driver.observe(UUID(int=1)) == Absent()
