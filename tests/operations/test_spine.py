"""The way of a declaration through the control plane, message by message."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from agent.protocol.observations import GuestPower, Inventory
from inventory.errors import Conflict, Invalid
from inventory.models import (
    Dependency,
    Node,
    NodeCondition,
    NodeLink,
    Placement,
    Resource,
    Zone,
)
from inventory.specs import DropletSpec, ImageSpec
from operations.executor import advance
from operations.explaining import explain_operation
from operations.intents.droplets import (
    create_droplet,
    delete_droplet,
    reboot,
    rebuild,
    rename,
    resize,
    set_power,
)
from operations.intents.images import create_image, delete_image
from operations.intents.operations import cancel_operation
from operations.intents.resources import Metadata
from operations.models import Operation
from operations.sweeps import sweep_drift, sweep_lost, sweep_nodes
from tests.operations.fleet import see

pytestmark = pytest.mark.django_db

NOW = timezone.now()


def state(operation):
    return Operation.objects.get(pk=operation.pk).state


def create(call, name="hello", **spec):
    return create_droplet(call, Metadata(name=name), DropletSpec(image="tiny", **spec))


def test_a_droplet_is_created_started_again_and_deleted(call, image, node):
    operation = create(call)
    assert operation.state == "queued"
    assert advance(operation.pk, now=NOW) == "running"
    answer = node.poll(NOW)
    (order,) = answer.orders
    assert order.declaration.name == "hello"
    node.finish(NOW, order)
    assert state(operation) == "succeeded"

    again = reboot(call, "hello")
    advance(again.pk, now=NOW)
    (order,) = node.poll(NOW).orders
    assert order.declaration.restarts == 1
    node.finish(NOW, order)
    assert state(again) == "succeeded"

    deletion = delete_droplet(call, "hello", confirm_name="hello")
    advance(deletion.pk, now=NOW)
    (order,) = node.poll(NOW).orders
    assert order.declaration.kind == "absent"
    node.finish(NOW, order)
    advance(deletion.pk, now=NOW)
    assert state(deletion) == "succeeded"
    assert Resource.objects.get(pk=deletion.resource_id).deleted_at == NOW
    row = Node.objects.get(pk=node.node_id)
    assert (row.used_vcpus, row.used_memory_mib, row.used_disk_gib) == (0, 0, 0)
    assert not Placement.objects.filter(released_at__isnull=True).exists()


def test_a_droplet_that_fits_nowhere_waits_with_counts_and_places_when_room_appears(
    call, image, node
):
    operation = create(call, memory_mib=9000)
    assert advance(operation.pk, now=NOW) == "queued"
    waiting = Operation.objects.get(pk=operation.pk)
    assert waiting.waiting_on["refused"] == {"memory": 1}
    assert "too little memory left" in explain_operation(waiting).known[-1]
    node.tell_facts(NOW, memory_mib=16384)
    assert Operation.objects.get(pk=operation.pk).due_at <= NOW + timedelta(seconds=20)
    assert advance(operation.pk, now=NOW) == "running"


def test_a_lost_answer_shows_reconciling_and_ends_by_the_ledger(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    lost = node.poll(NOW, lose_answer=True)
    first = lost.orders[0]
    answer = node.poll(NOW)
    assert state(operation) == "reconciling"
    assert answer.ledger_wanted
    assert explain_operation(Operation.objects.get(pk=operation.pk)).unknown
    node.report(NOW, ledger=node.ledger(), inventory=Inventory(complete=True))
    advance(operation.pk, now=NOW)
    (second,) = node.poll(NOW).orders
    assert second.step_id == first.step_id
    assert second.declaration.generation > first.declaration.generation
    node.finish(NOW, first)  # the late duplicate: its generation no longer counts
    assert state(operation) == "running"
    node.finish(NOW, second)
    assert state(operation) == "succeeded"


def test_a_newer_wish_supersedes_an_operation_in_flight(call, image, node):
    creation = create(call)
    advance(creation.pk, now=NOW)
    (old,) = node.poll(NOW).orders
    stop = set_power(call, "hello", "stopped")
    advance(stop.pk, now=NOW)
    (new,) = node.poll(NOW).orders
    assert new.declaration.generation > old.declaration.generation
    node.finish(NOW, new)
    assert state(stop) == "succeeded"


def test_a_creation_is_cancelled_before_it_is_sent(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    cancelled = cancel_operation(call, operation.pk)
    assert cancelled.state == "cancelled"
    assert Resource.objects.get(pk=operation.resource_id).deleted_at is not None
    assert Node.objects.get(pk=node.node_id).used_memory_mib == 0
    assert node.poll(NOW) is None


def test_a_guest_killed_by_hand_is_repaired_with_its_cause(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    (order,) = node.poll(NOW).orders
    node.finish(NOW, order)
    dead = see(order.declaration, GuestPower.STOPPED)
    node.report(NOW, inventory=Inventory(complete=True, droplets=(dead,)))
    assert sweep_drift(now=NOW).acted == 1
    assert sweep_drift(now=NOW).acted == 0
    repair = Operation.objects.get(kind="droplet.repair")
    assert repair.cause == "drift"
    assert "declared running" in repair.reason
    advance(repair.pk, now=NOW)
    (again,) = node.poll(NOW).orders
    node.finish(NOW, again)
    assert state(repair) == "succeeded"


def test_a_late_inventory_is_dropped(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    (order,) = node.poll(NOW).orders
    node.finish(NOW, order)
    node.sequence -= 1
    answer = node.report(NOW, inventory=Inventory(complete=True))
    assert answer.stale
    assert sweep_drift(now=NOW).acted == 0


def test_a_rebuild_from_another_image_lets_go_of_the_first(call, image, node):
    other = ImageSpec(sha256="b" * 64, format="raw", size_bytes=10, url="https://images/y")
    create_image(call, Metadata(name="other"), other)
    operation = create(call)
    rebuild(call, "hello", image="other")
    needs = Dependency.objects.filter(dependent=operation.resource, resource__isnull=False)
    assert [row.resource.name for row in needs] == ["other"]
    delete_image(call, "tiny", confirm_name="tiny")
    with pytest.raises(Conflict, match="in use by hello"):
        delete_image(call, "other", confirm_name="other")


def test_a_cancelled_resize_declares_again_what_was_and_gives_the_room_back(call, image, node):
    creation = create(call, memory_mib=512)
    advance(creation.pk, now=NOW)
    (order,) = node.poll(NOW).orders
    node.finish(NOW, order)
    operation = resize(call, "hello", memory_mib=1024)
    advance(operation.pk, now=NOW)
    assert Node.objects.get(pk=node.node_id).used_memory_mib == 1024
    cancel_operation(call, operation.pk)
    assert Node.objects.get(pk=node.node_id).used_memory_mib == 512
    droplet = Resource.objects.get(pk=creation.resource_id)
    assert droplet.droplet.memory_mib == 512
    assert droplet.spec["memory_mib"] == 512


def test_an_operation_that_was_sent_cannot_be_taken_back(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    node.poll(NOW)
    with pytest.raises(Conflict, match="opposite change"):
        cancel_operation(call, operation.pk)


def test_a_dry_run_leaves_nothing(call, image, node):
    trial = replace(call, dry_run=True)
    assert create(trial).state == "queued"
    assert not Resource.objects.filter(kind="droplet").exists()
    assert not Operation.objects.filter(kind="droplet.create").exists()


def test_the_silence_of_a_node_never_heard_begins_when_it_joined(node):
    for seconds in range(0, 600, 5):
        sweep_nodes(now=NOW + timedelta(seconds=seconds))
    joined = NOW + timedelta(seconds=590)
    NodeLink.objects.filter(node_id=node.node_id).update(last_seen=None)
    Node.objects.filter(pk=node.node_id).update(joined_at=joined)
    NodeCondition.objects.all().delete()
    sweep_nodes(now=joined + timedelta(seconds=10))
    assert not NodeCondition.objects.exists()
    for seconds in range(15, 65, 5):
        sweep_nodes(now=joined + timedelta(seconds=seconds))
    assert NodeCondition.objects.get().since == joined


def test_a_droplet_cannot_be_named_like_the_number_of_another(call, image, node):
    create(call, name="web-1")
    number = Resource.objects.get(name="web-1").public_id
    for attempt in (
        lambda: create(call, name=str(number)),
        lambda: rename(call, "web-1", str(number + 1)),
    ):
        with pytest.raises(Invalid, match="public number"):
            attempt()


def test_silence_makes_what_was_sent_unknown_but_never_moves_the_placement(call, image, node):
    operation = create(call)
    advance(operation.pk, now=NOW)
    node.poll(NOW)
    sweep_nodes(now=NOW)
    later = NOW
    for _ in range(12):
        later += timedelta(seconds=5)
        sweep_nodes(now=later)
        sweep_lost(now=later)
    assert state(operation) == "reconciling"
    row = Node.objects.get(pk=node.node_id)
    assert [condition.kind for condition in row.conditions.all()] == ["unreachable"]
    assert Placement.objects.get(released_at__isnull=True).node_id == node.node_id
    node.report(later, ledger=node.ledger(converged=True), inventory=Inventory(complete=True))
    assert state(operation) == "succeeded"
    sweep_nodes(now=later)
    assert not row.conditions.exists()


def test_a_node_that_has_not_told_yet_is_not_called_unable(call, image):
    zone = Zone.objects.create(name="home")
    Node.objects.create(name="n1", zone=zone, lifecycle="ready")
    operation = create(call)
    advance(operation.pk, now=NOW)
    waiting = Operation.objects.get(pk=operation.pk).waiting_on
    assert waiting["refused"] == {"not_told": 1}
    assert "yet to tell" in waiting["text"]
