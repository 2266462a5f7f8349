"""The admin as an administrator uses it: facts by intent, records only to look at."""

import pytest
from django.contrib import admin as django_admin
from django.urls import reverse

from inventory.models import AuditEvent, Node, Owner, Resource, Zone
from operations.models import Operation

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(client, admin):
    client.force_login(admin)
    return client


def add(client, model, **fields):
    return client.post(reverse(f"admin:{model}_add"), fields)


ZONE = {"name": "rack-1", "kind_label": "rack", "jurisdiction": "", "labels": "{}", "parent": ""}


def test_a_zone_is_added_through_its_intent_and_audited(client, owner):
    assert add(client, "inventory_zone", **ZONE).status_code == 302
    assert Zone.objects.get().name == "rack-1"
    assert AuditEvent.objects.get(action="zone.create").object_name == "rack-1"


def test_a_zone_that_the_intent_refuses_is_told_beside_the_field(client, owner):
    answer = add(client, "inventory_zone", **(ZONE | {"name": "a\u202eb"}))
    assert answer.status_code == 200
    assert b"text direction" in answer.content
    assert not Zone.objects.exists()


def test_a_zone_cannot_be_moved_into_itself(client, zone):
    inner = Zone.objects.create(name="inner", parent=zone)
    path = reverse("admin:inventory_zone_change", args=[zone.pk])
    answer = client.post(path, ZONE | {"name": zone.name, "parent": str(inner.pk)})
    assert b"cannot stand inside itself" in answer.content
    zone.refresh_from_db()
    assert zone.parent_id is None


def test_over_commit_is_changed_within_its_bounds(client, node_factory):
    node = Node.objects.get(pk=node_factory().node_id)
    path = reverse("admin:inventory_node_change", args=[node.pk])
    fields = {"name": node.name, "zone": str(node.zone_id), "labels": "{}"}
    fields |= {"overcommit_vcpus": "8", "overcommit_memory": "1", "overcommit_disk": "1"}
    assert client.post(path, fields).status_code == 302
    node.refresh_from_db()
    assert node.overcommit_vcpus == 8
    answer = client.post(path, fields | {"overcommit_memory": "99"})
    assert b"Between" in answer.content


def test_an_owner_is_added(client, owner):
    assert add(client, "inventory_owner", name="web").status_code == 302
    assert Owner.objects.filter(name="web").exists()


def test_a_droplet_saved_in_the_admin_opens_an_operation(client, owner, image):
    fields = {"kind": "droplet", "name": "hello", "owner": str(owner.pk), "zone": ""}
    fields |= {"labels": "{}", "spec": '{"image": "tiny", "memory_mib": 64}'}
    assert add(client, "inventory_resource", **fields).status_code == 302
    droplet = Resource.objects.get(kind="droplet")
    assert Operation.objects.get(resource=droplet).kind == "droplet.create"
    path = reverse("admin:inventory_resource_change", args=[droplet.pk])
    fields = {"labels": "{}", "spec": '{"image": "tiny", "memory_mib": 128}'}
    assert client.post(path, fields).status_code == 302
    droplet.refresh_from_db()
    assert droplet.droplet.memory_mib == 128
    assert droplet.generation == 2


def test_a_bad_spec_is_told_beside_the_field_and_leaves_nothing(client, owner, image):
    fields = {"kind": "droplet", "name": "hello", "owner": str(owner.pk), "zone": ""}
    fields |= {"labels": "{}", "spec": '{"image": "tiny", "vcpus": 0}'}
    answer = add(client, "inventory_resource", **fields)
    assert answer.status_code == 200
    assert not Resource.objects.filter(kind="droplet").exists()
    assert not Operation.objects.filter(resource__kind="droplet").exists()


@pytest.mark.parametrize(
    "model",
    [m for m in django_admin.site._registry if m._meta.app_label in {"inventory", "operations"}],
    ids=lambda model: model._meta.label,
)
def test_every_list_opens(client, model, node_factory, droplet_factory):
    droplet_factory(on=node_factory())
    meta = model._meta
    answer = client.get(reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist"))
    assert answer.status_code == 200


def test_records_are_not_edited(client, node_factory, droplet_factory):
    droplet_factory(on=node_factory())
    operation = Operation.objects.first()
    path = reverse("admin:operations_operation_change", args=[operation.pk])
    assert client.post(path, {"state": "failed"}).status_code == 403
