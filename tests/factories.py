"""A small installation built through the same intents that people use."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from inventory.access import Actor, actor_for
from inventory.models import Installation, Membership, Node, Owner, Resource, Role, User, Zone
from inventory.specs import DropletSpec, ImageSpec, SshKeySpec
from operations.enrolment import create_enrolment_token
from operations.executor import advance
from operations.intents.call import Call
from operations.intents.droplets import create_droplet
from operations.intents.images import create_image
from operations.intents.nodes import create_node
from operations.intents.owners import create_owner
from operations.intents.resources import Metadata
from operations.intents.sshkeys import create_ssh_key
from operations.intents.zones import create_zone
from operations.models import Operation
from tests.operations.fleet import WireNode

DIGEST = "ab" * 32
PUBLIC_KEY = (
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada@example"
)


def make_installation(*, now: datetime | None = None) -> Installation:
    """Return the installation with its default owner; found when it is there already."""
    Owner.objects.get_or_create(is_default=True, defaults={"name": "default"})
    row, _ = Installation.objects.get_or_create(
        singleton=True, defaults={"token": "t" * 32, "created_at": now or timezone.now()}
    )
    return row


def make_user(name: str, *, role: Role | str | None = None, owner: Owner | None = None) -> User:
    """Return a person; with a role, a member of the owner (the default one when not given)."""
    user = User.objects.create_user(username=name, password="a long pass phrase")
    if role is not None:
        owner = owner or Owner.objects.get(is_default=True)
        Membership.objects.create(user=user, owner=owner, role=role)
    return user


def make_admin(name: str = "admin") -> User:
    """Return an administrator of the installation."""
    return User.objects.create_superuser(username=name, password="a long pass phrase")


def make_call(actor: Actor | User, **parts: object) -> Call:
    """Return a call of the actor, now."""
    actor = actor_for(actor) if isinstance(actor, User) else actor
    return Call(**{"actor": actor, "now": timezone.now(), "request_id": "test", **parts})


def make_owner(call: Call, name: str = "team") -> Owner:
    return create_owner(call, name=name)


def make_zone(call: Call, name: str = "home", **parts: object) -> Zone:
    """Return the zone of that name; made when there is none."""
    return Zone.objects.filter(name=name).first() or create_zone(call, name=name, **parts)


def make_node(
    call: Call,
    name: str = "n1",
    *,
    zone: str = "home",
    vcpus: int = 8,
    memory_mib: int = 8192,
    disk_gib: int = 100,
    **parts: object,
) -> WireNode:
    """Return a ready node with room, that speaks the wire protocol without a network."""
    node = create_node(call, name=name, zone=make_zone(call, zone).pk, **parts)
    create_enrolment_token(node, call)
    Node.objects.filter(pk=node.pk).update(lifecycle="ready", joined_at=call.now)
    wire = WireNode(node.pk)
    wire.tell_facts(call.now, vcpus=vcpus, memory_mib=memory_mib, disk_gib=disk_gib)
    return wire


def make_image(call: Call, name: str = "tiny", **parts: object) -> Resource:
    """Return an image that has been verified (by its address, not by bytes in the store)."""
    spec = {"sha256": DIGEST, "format": "qcow2", "size_bytes": 10, "url": "https://images.test/x"}
    metadata = Metadata(name=name, owner=parts.pop("owner", None))
    operation = create_image(call, metadata, ImageSpec(**{**spec, **parts}))
    advance(operation.pk, now=call.now)
    return resource_of(operation)


def make_ssh_key(call: Call, name: str = "ada", **parts: object) -> Resource:
    spec = SshKeySpec(public_key=PUBLIC_KEY)
    operation = create_ssh_key(call, Metadata(name=name, **parts), spec)
    return resource_of(operation)


def make_droplet(
    call: Call,
    name: str = "hello",
    *,
    on: WireNode | None = None,
    owner: object = None,
    zone: object = None,
    labels: dict[str, str] | None = None,
    protected: bool = False,
    **spec: object,
) -> Resource:
    """Return a declared droplet; with `on` its node has carried everything out."""
    metadata = Metadata(name=name, owner=owner, zone=zone, labels=labels or {}, protected=protected)
    operation = create_droplet(call, metadata, DropletSpec(**{"image": "tiny", **spec}))
    if on is not None:
        carry_out(operation, on, now=call.now)
    return resource_of(operation)


def carry_out(operation: Operation, node: WireNode, *, now: datetime) -> Operation:
    """Let a worker and the node do all that is due, and return the operation afterwards."""
    advance(operation.pk, now=now)
    answer = node.poll(now)
    for order in answer.orders if answer else ():
        node.finish(now, order)
    advance(operation.pk, now=now)
    operation.refresh_from_db()
    return operation


def resource_of(operation: Operation) -> Resource:
    return Resource.objects.select_related("owner", "zone").get(pk=operation.resource_id)
