"""The whole way from a declaration to a guest that really runs, and back to nothing."""

from __future__ import annotations

import hashlib
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from agent.identity import IdentityStore
from inventory.models import Node
from operations.intents.droplets import delete_droplet, reboot, set_power
from tests.agent.drivers.lab import Lab, private_libvirt
from tests.agent.drivers.sector import IMAGE
from tests.agent.site import Site, call, create, make_image, repair
from tests.agent.site import site as fake_site  # noqa: F401  a fixture
from tests.agents.conftest import authority, edge, installation, node  # noqa: F401  fixtures
from tests.waiting import wait_until

pytestmark = [pytest.mark.libvirt, pytest.mark.timeout(240)]


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with private_libvirt() as running:
        yield running


@pytest.fixture
def site(fake_site: Site, lab: Lab) -> Iterator[Site]:  # noqa: F811  the real one
    fake_site.libvirt_uri = lab.uri
    # Where the emulator's user can pass.
    fake_site.state = lab.base / "node"
    yield fake_site
    fake_site.end()
    shutil.rmtree(fake_site.state, ignore_errors=True)


def store_image(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = hashlib.sha256(IMAGE).hexdigest()
    monkeypatch.setattr(settings.ENVIRONMENT, "image_store", folder)
    (folder / digest).write_bytes(IMAGE)
    make_image(sha256=digest, size_bytes=len(IMAGE), url="")


def test_a_life_of_a_real_guest(
    site: Site, lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.enrol()
    store_image(tmp_path, monkeypatch)
    process = site.start()
    created = site.settle(create(), seconds=90)
    assert created.state == "succeeded"
    name = f"infra-{created.resource_id}"
    assert lab.virsh("domstate", name) == "running"

    # The agent is killed and the guest goes on; the next agent does not touch it.
    before = lab.guest_pids()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert lab.guest_pids() == before
    process = site.start()

    assert site.settle(reboot(call(), "hello"), seconds=60).state == "succeeded"
    assert lab.guest_pids() != before
    lab.kill_guest(name)
    opened = wait_until(lambda: repair(created.resource_id), seconds=30, what="the repair")
    assert site.settle(opened, seconds=60).state == "succeeded"
    assert lab.virsh("domstate", name) == "running"
    assert site.settle(set_power(call(), "hello", "stopped"), seconds=60).state == "succeeded"
    assert lab.virsh("domstate", name) == "shut off"
    assert site.settle(set_power(call(), "hello", "running"), seconds=60).state == "succeeded"
    deleted = site.settle(delete_droplet(call(), "hello", confirm_name="hello"), seconds=60)
    assert deleted.state == "succeeded"

    assert lab.virsh("list", "--all", "--name") == ""
    assert Node.objects.get(pk=site.node.pk).capabilities == {"compute": "tcg"}
    assert IdentityStore(site.state).load().about.node_id == site.node.pk
