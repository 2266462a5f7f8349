"""Nodes to drive. The real ones live in a private libvirtd; see `lab.py`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from agent.acceleration import cached_probe
from tests.agent.drivers.lab import Lab, private_libvirt
from tests.agent.drivers.places import FakePlace, LibvirtPlace, Place


@pytest.fixture(scope="session")
def lab() -> Iterator[Lab]:
    if os.geteuid() != 0:
        pytest.skip("a private libvirtd needs root")
    with private_libvirt() as running:
        yield running


@pytest.fixture(scope="session")
def acceleration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("acceleration") / "acceleration.json"
    cached_probe(path, "qemu-system-x86_64")
    return path


@pytest.fixture
def make_libvirt_place(lab: Lab, acceleration: Path) -> Iterator[Callable[..., LibvirtPlace]]:
    """Make a node of its own in the lab; its guests and files are gone after the test."""
    made: list[LibvirtPlace] = []

    def make(*, uri: str = "") -> LibvirtPlace:
        folder = lab.base / f"node-{len(made)}"
        folder.mkdir(mode=0o711)
        made.append(LibvirtPlace(lab, folder, uri=uri, acceleration=acceleration))
        return made[-1]

    yield make
    for place in made:
        place.close()
        shutil.rmtree(place.folder)


@pytest.fixture
def libvirt_place(make_libvirt_place: Callable[..., LibvirtPlace]) -> LibvirtPlace:
    return make_libvirt_place()


@pytest.fixture(params=["fake", pytest.param("libvirt", marks=pytest.mark.libvirt)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A node under each driver in turn."""
    if request.param == "fake":
        return FakePlace(tmp_path / "fake")
    made: LibvirtPlace = request.getfixturevalue("libvirt_place")
    return made


@pytest.fixture
def web() -> UUID:
    """The droplet that most tests are about."""
    return UUID(int=1)
