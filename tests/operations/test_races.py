"""Several writers at the same moment, on real PostgreSQL."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from django.db.models import Sum

from inventory.errors import Conflict
from inventory.models import Node, Placement, Resource
from inventory.specs import DropletSpec
from operations.executor import advance
from operations.intents.droplets import create_droplet, delete_droplet
from operations.intents.images import delete_image
from operations.intents.resources import Metadata
from operations.models import Journal, Operation, Step
from tests.operations.conftest import make_call, make_image, make_node

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(actions: list[Callable[[], object]], *, threads: int | None = None) -> list[object]:
    """Run all actions from a common start and return what each returned or raised."""
    size = threads or len(actions)
    gate = threading.Barrier(size) if size == len(actions) else None

    def run(action: Callable[[], object]) -> object:
        try:
            if gate is not None:
                gate.wait()
            return action()
        except Exception as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(size) as pool:
        return list(pool.map(run, actions))


def droplet(call, name, **spec):
    metadata = Metadata(name=name, labels=spec.pop("labels", {}))
    return create_droplet(call, metadata, DropletSpec(image="tiny", **spec))


def test_two_workers_do_one_step_once():
    call = make_call()
    make_image(call)
    make_node(call, "n1")
    operation = droplet(call, "hello")
    at_once([lambda: advance(operation.pk, now=call.now)] * 4)
    assert Placement.objects.count() == 1
    reserved = Journal.objects.filter(operation=operation, event="confirm")
    assert reserved.count() == 1


def test_two_polls_of_one_node_hand_a_step_out_once():
    call = make_call()
    make_image(call)
    node = make_node(call, "n1")
    operation = droplet(call, "hello")
    advance(operation.pk, now=call.now)
    answers = at_once([lambda: node.poll(call.now)] * 3)
    orders = [order for answer in answers if answer for order in answer.orders]
    assert len(orders) == 1
    assert Step.objects.get(operation=operation, kind="apply").attempts == 1


def test_one_name_at_the_same_moment_is_given_once():
    call = make_call()
    make_image(call)
    answers = at_once([lambda: droplet(call, "hello")] * 4)
    kinds = Counter(type(answer) for answer in answers)
    assert kinds == {Operation: 1, Conflict: 3}
    assert Resource.objects.filter(name="hello").count() == 1


def test_an_image_is_never_deleted_under_a_droplet_that_takes_it():
    call = make_call()
    make_image(call)
    for round_number in range(5):
        answers = at_once(
            [
                lambda name=f"d{round_number}": droplet(call, name),
                lambda: delete_image(call, "tiny", confirm_name="tiny"),
            ]
        )
        image = Resource.objects.get(name="tiny", deleted_at__isnull=True)
        made = [answer for answer in answers if isinstance(answer, Operation)]
        assert len(made) == 1
        if image.absent:
            assert not Resource.objects.filter(kind="droplet").exists()
            break


def test_200_creations_at_once_on_a_nearly_full_fleet_oversell_nothing_and_none_is_stuck():
    call = make_call()
    make_image(call)
    for number in range(10):
        make_node(call, f"n{number}", vcpus=4, memory_mib=16 * 512, disk_gib=1000)
    operations = [droplet(call, f"d{number}") for number in range(200)]
    at_once(
        [lambda pk=operation.pk: advance(pk, now=call.now) for operation in operations], threads=16
    )
    while due := list(
        Operation.objects.filter(
            pk__in=[operation.pk for operation in operations], waiting_on__code="raced"
        ).values_list("pk", flat=True)
    ):
        for pk in due:
            advance(pk, now=call.now)
    placed = Placement.objects.filter(released_at__isnull=True)
    assert placed.count() == 160
    for node in Node.objects.all():
        held = placed.filter(node=node).aggregate(vcpus=Sum("vcpus"), memory=Sum("memory_mib"))
        assert (node.used_vcpus, node.used_memory_mib) == (held["vcpus"], held["memory"])
        assert node.used_vcpus <= node.vcpus * node.overcommit_vcpus
        assert node.used_memory_mib <= node.memory_mib
    waiting = Operation.objects.filter(waiting_on__code="no_room")
    assert waiting.count() == 40
    first = placed.first()
    delete_droplet(call, first.resource_id, confirm_name=first.resource.name)


def test_droplets_that_must_stand_apart_never_meet_whoever_is_first():
    call = make_call()
    make_image(call)
    for number in range(3):
        make_node(call, f"n{number}")
    apart = [{"mode": "apart", "labels": {"app": "web"}}]
    operations = [
        droplet(call, f"w{number}", labels={"app": "web"}, affinity=apart) for number in range(6)
    ]
    at_once([lambda pk=operation.pk: advance(pk, now=call.now) for operation in operations])
    placed = Placement.objects.filter(released_at__isnull=True)
    assert max(Counter(placed.values_list("node_id", flat=True)).values()) == 1
    assert placed.count() == 3
