"""Agents and the real agent edge: work comes down, evidence goes up, whatever breaks between."""

from __future__ import annotations

import hashlib
import json
import random
import signal
import time
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agent import identity as identities
from agent.drivers.fake import calls, kill_guest, runs
from agent.identity import IdentityStore
from agent.joining import enrol
from agent.wire import TurnedAway
from inventory.models import Installation, Node, NodeCertificate, NodeLink
from operations.enrolment import revoke_node_certificates
from operations.executor import advance
from operations.intents.droplets import delete_droplet, reboot, set_power
from operations.models import Operation, Step
from tests.agent.site import Site, cabled, call, create, make_image, repair
from tests.agent.site import site as site  # noqa: PLC0414  a fixture
from tests.agents.conftest import (  # noqa: F401  fixtures
    authority,
    edge,
    installation,
    new_token,
    node,
)
from tests.waiting import wait_until


class Moments:
    """Seeded moments at which something is broken, so that a run can be repeated."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311  chance, no secret

    def let_pass(self, least: float, most: float) -> None:
        end = time.monotonic() + self._dice.uniform(least, most)
        wait_until(lambda: time.monotonic() > end)


def test_a_machine_enrols_and_its_key_stays_its_own(site: Site) -> None:
    enrolled = site.enrol()

    assert enrolled.about.node_id == site.node.pk
    assert IdentityStore(site.state).load() == enrolled
    assert (enrolled.folder / "key.pem").stat().st_mode & 0o077 == 0
    assert NodeCertificate.objects.get().fingerprint == enrolled.fingerprint


def test_an_enrolment_whose_answer_was_lost_may_be_repeated(site: Site) -> None:
    token = new_token(site.node)
    site.state.mkdir()
    store = IdentityStore(site.state)
    asked = identities.signing_request(store.pending_key(), "machine")
    with httpx2.Client(verify=identities.trusting(site.edge.authority.pem)) as client:
        lost = client.post(
            site.edge.enrol_url + "/v1/enrol", json={"token": token, "csr_pem": asked}
        )
    assert lost.status_code == 200

    enrol(
        store,
        url=site.edge.enrol_url,
        ca_pem=site.edge.authority.pem,
        token=token,
        address="",
        name="machine",
    )

    assert NodeCertificate.objects.count() == 2


def test_a_wrong_token_is_turned_away(site: Site) -> None:
    site.state.mkdir()

    with pytest.raises(TurnedAway) as refused:
        enrol(
            IdentityStore(site.state),
            url=site.edge.enrol_url,
            ca_pem=site.edge.authority.pem,
            token="infra_node_" + "x" * 20,
            address="",
            name="machine",
        )

    assert refused.value.code == "token.unknown"


def test_a_declared_droplet_runs_within_moments(site: Site) -> None:
    site.enrol()
    make_image()
    with site.agent():
        wait_until(lambda: Node.objects.get(pk=site.node.pk).vcpus, what="the node's facts")
        created = site.settle(create())

        assert created.state == "succeeded"
        assert runs(site.guests, created.resource_id)
        assert site.settle(reboot(call(), "hello")).state == "succeeded"
        assert site.settle(set_power(call(), "hello", "stopped")).state == "succeeded"
        assert not runs(site.guests, created.resource_id)
        deleted = site.settle(delete_droplet(call(), "hello", confirm_name="hello"))
        assert deleted.state == "succeeded"
        wait_until(lambda: "agent.started" in site.events(), what="the journal")

    node_now = Node.objects.get(pk=site.node.pk)
    assert (node_now.vcpus, node_now.capabilities) == (16, {"compute": "tcg"})


def test_a_guest_killed_by_hand_comes_back_by_an_operation(site: Site) -> None:
    site.enrol()
    make_image()
    with site.agent():
        created = site.settle(create())
        kill_guest(site.guests, created.resource_id)
        opened = wait_until(lambda: repair(created.resource_id), what="the repair")
        assert site.settle(opened).state == "succeeded"

    assert runs(site.guests, created.resource_id)
    assert "droplet.drifted" in site.events()


def test_an_image_comes_from_the_store_and_is_verified(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = bytes(range(256)) * 4096
    digest = hashlib.sha256(content).hexdigest()
    monkeypatch.setattr(settings.ENVIRONMENT, "image_store", tmp_path)
    (tmp_path / digest).write_bytes(content)
    make_image(sha256=digest, size_bytes=len(content), url="")
    site.verify_images = True
    site.enrol()
    with site.agent():
        assert site.settle(create()).state == "succeeded"


def test_an_image_that_is_not_in_the_store_ends_the_operation(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings.ENVIRONMENT, "image_store", tmp_path)
    (tmp_path / ("a" * 64)).write_bytes(b"0123456789")
    make_image(url="")
    (tmp_path / ("a" * 64)).unlink()
    site.verify_images = True
    site.enrol()
    with site.agent():
        assert site.settle(create()).state == "failed"

    assert Step.objects.filter(state="refused").exists()


def test_a_certificate_is_renewed_while_work_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = site.enrol()
    make_image()
    monkeypatch.setattr(identities, "RENEWED_AFTER", 0.0)
    with site.agent():
        wait_until(
            lambda: IdentityStore(site.state).load().fingerprint != before.fingerprint,
            what="the renewal",
        )
        created = site.settle(create())
        assert created.state == "succeeded"
        wait_until(lambda: "identity.renewed" in site.events(), what="the journal")

    old = NodeCertificate.objects.get(fingerprint=before.fingerprint)
    assert old.revoked_because == "superseded"
    assert sum(each.call == "start" for each in calls(site.guests)) == 1


def test_a_certificate_that_ran_out_is_recovered(site: Site) -> None:
    site.edge.clock.ahead = timedelta(days=-31)
    expired = site.enrol()
    site.edge.clock.ahead = timedelta()
    make_image()
    with site.agent():
        created = site.settle(create(), seconds=30)
        assert created.state == "succeeded"

    assert IdentityStore(site.state).load().fingerprint != expired.fingerprint
    assert "identity.recovered" in site.events() + site.local_events()


def test_a_revoked_node_falls_silent_and_leaves_its_guests_alone(site: Site) -> None:
    site.enrol()
    make_image()
    with site.agent():
        created = site.settle(create())
        with transaction.atomic():
            revoke_node_certificates(site.node, "stolen", now=timezone.now())
        wait_until(lambda: "link.barred" in site.local_events(), what="the refusal")
        before = NodeLink.objects.get(node=site.node).poll_number

    assert runs(site.guests, created.resource_id)
    assert NodeLink.objects.get(node=site.node).poll_number - before <= 1


def test_lost_answers_end_by_evidence_and_nothing_is_done_twice(site: Site) -> None:
    site.enrol()
    make_image()
    moments = Moments(5)
    with cabled(site) as cable, site.agent():
        wait_until(lambda: Node.objects.get(pk=site.node.pk).vcpus, what="the node's facts")
        operations = [create(f"d{number}") for number in range(12)]
        for _ in range(6):
            moments.let_pass(0.02, 0.3)
            cable.cut()
            cable.mend()
        for operation in operations:
            assert site.settle(operation, seconds=60).state == "succeeded"

    changed = [each for each in calls(site.guests) if each.changed]
    for operation in operations:
        mine = [each.call for each in changed if each.resource_id == operation.resource_id]
        assert mine.count("create_disk") == mine.count("start") == 1


def test_a_node_that_is_cut_off_repairs_and_tells_of_it_afterwards(site: Site) -> None:
    site.enrol()
    make_image()
    site.repair_after = 1.0
    with cabled(site) as cable, site.agent():
        created = site.settle(create())
        cable.cut()
        kill_guest(site.guests, created.resource_id)
        wait_until(lambda: runs(site.guests, created.resource_id), what="the repair")
        cable.mend()
        wait_until(
            lambda: "droplet.repaired_locally" in site.events(), seconds=30, what="the journal"
        )


def test_an_agent_killed_at_random_moments_loses_nothing(site: Site) -> None:
    site.enrol()
    make_image()
    moments = Moments(7)
    process = site.start()
    wait_until(lambda: Node.objects.get(pk=site.node.pk).vcpus, seconds=20, what="the facts")
    operations = [create(f"d{number}") for number in range(8)]
    for _ in range(3):
        moments.let_pass(0.0, 0.4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process = site.start()
    for operation in operations:
        assert site.settle(operation, seconds=60).state == "succeeded"
    deletions = [
        delete_droplet(call(), f"d{number}", confirm_name=f"d{number}") for number in range(8)
    ]
    process.send_signal(signal.SIGKILL)
    process.wait()
    process = site.start()
    for operation in deletions:
        assert site.settle(operation, seconds=60).state == "succeeded"

    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) == 0
    assert list((site.guests / "guests").glob("*.json")) == []


def test_an_agent_that_dies_after_every_call_leaves_the_rest_to_the_next(site: Site) -> None:
    site.enrol()
    make_image()
    once = {"die": 1.0, "times": 1}
    site.guests.mkdir()
    (site.guests / "faults.json").write_text(
        json.dumps({"calls": dict.fromkeys(("create_disk", "define", "start", "remove"), once)})
    )
    processes = [site.start()]

    def ended(operation: Operation) -> bool:
        if processes[-1].poll() is not None:
            processes.append(site.start())
        advance(operation.pk, now=timezone.now())
        return Operation.objects.get(pk=operation.pk).state == "succeeded"

    created = create()
    wait_until(lambda: ended(created), seconds=60, what="the creation")
    deleted = delete_droplet(call(), "hello", confirm_name="hello")
    wait_until(lambda: ended(deleted), seconds=60, what="the deletion")

    assert len(processes) == 5
    made = [each.call for each in calls(site.guests) if each.changed]
    assert made == ["fetch_image", "create_disk", "define", "start", "force_stop", "remove"]
    wait_until(lambda: site.events().count("agent.interrupted") == 4, what="the journal")


def test_a_rival_control_plane_is_refused_and_nothing_of_its_work_is_done(
    site: Site,
) -> None:
    site.enrol()
    make_image()
    with site.agent():
        first = site.settle(create("mine"))
        Installation.objects.update(token="r" * 32)
        rival = create("theirs")
        advance(rival.pk, now=timezone.now())
        wait_until(lambda: "link.barred" in site.local_events(), what="the refusal")

    assert runs(site.guests, first.resource_id)
    assert not any(each.resource_id == rival.resource_id for each in calls(site.guests))
