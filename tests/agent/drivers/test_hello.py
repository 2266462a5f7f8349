"""The hello image under the libvirt driver: a kernel that reads its seed and obeys its button."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from agent.protocol.declarations import ImageFormat, ImageReference
from agent.protocol.observations import GuestPower
from tests.agent.drivers.listening import read_until
from tests.agent.drivers.places import LibvirtPlace, declared, reference

pytestmark = pytest.mark.libvirt

BOOT_SECONDS = 120.0
"""Three to five on an idle machine."""


@pytest.fixture(scope="module")
def hello(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from infra.bootstrap.guestimage import build_hello  # noqa: PLC0415  only where it is built

    folder = tmp_path_factory.mktemp("hello")
    return build_hello(folder / "hello.qcow2", work_dir=folder).path


def test_a_real_guest_boots_with_its_name_answers_and_goes_down(
    libvirt_place: LibvirtPlace, hello: Path, web: UUID
) -> None:
    image = reference(hello.read_bytes(), ImageFormat.QCOW2)

    @contextlib.contextmanager
    def stream(_image: ImageReference) -> Iterator[Iterator[bytes]]:
        with hello.open("rb") as file:
            yield iter(lambda: file.read(2**20), b"")

    driver = libvirt_place.driver
    it = declared(1, image=image, memory_mib=128, hostname="greeter")
    driver.fetch_image(image, stream)
    driver.create_disk(it)
    driver.define(it)
    driver.start(it)
    libvirt_place.hear(web, b"HELLO greeter", seconds=BOOT_SECONDS)

    console = driver.open_console(web)
    libvirt_place.hear(web, b"greeter:~#", seconds=BOOT_SECONDS)
    console.write(b"echo seven is $((3 + 4))\n")
    assert b"seven is 7" in read_until(console, b"seven is 7")
    console.close()

    driver.request_stop(web)
    libvirt_place.wait_power(web, GuestPower.STOPPED)

    driver.grow_disk(declared(1, image=image, memory_mib=128, hostname="greeter", disk_gib=2))
    driver.start(it)
    libvirt_place.hear(web, b"HELLO greeter", times=2, seconds=BOOT_SECONDS)
    assert libvirt_place.seen(web).disk_gib == 2
