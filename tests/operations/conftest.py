"""A small installation, made through the intents."""

import pytest
from django.utils import timezone

from inventory.access import LOOP
from inventory.models import Installation, Node, Owner, Zone
from inventory.specs import ImageSpec
from operations.executor import advance
from operations.intents.call import Call
from operations.intents.images import create_image
from operations.intents.resources import Metadata
from tests.operations.fleet import WireNode


@pytest.fixture
def call(db):
    del db
    return make_call()


def make_call():
    now = timezone.now()
    Installation.objects.create(token="t" * 20, created_at=now)
    Owner.objects.create(name="default", is_default=True)
    return Call(actor=LOOP, now=now)


@pytest.fixture
def image(call):
    return make_image(call)


def make_image(call):
    spec = ImageSpec(sha256="a" * 64, format="qcow2", size_bytes=10, url="https://images/x")
    operation = create_image(call, Metadata(name="tiny"), spec)
    advance(operation.pk, now=call.now)
    return operation.resource


@pytest.fixture
def node(call):
    return make_node(call, "n1")


def make_node(call, name, *, zone="home", **facts):
    row, _ = Zone.objects.get_or_create(name=zone)
    wire = WireNode(Node.objects.create(name=name, zone=row, lifecycle="ready").pk)
    wire.tell_facts(call.now, **facts)
    return wire
