"""A small installation in which droplets, nodes and operations stand in every way they can."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agent.protocol.messages import StepOutcome, StepResult
from agent.protocol.observations import GuestPower, Inventory
from inventory.identifiers import uuid7
from inventory.models import FoundObject, Node, NodeCertificate, NodeCondition, Resource, User
from inventory.specs import DropletSpec
from operations.executor import advance
from operations.intents.call import Call
from operations.intents.droplets import create_droplet, delete_droplet
from operations.intents.nodes import create_node
from operations.intents.operations import cancel_operation
from operations.intents.resources import Metadata
from operations.journal import Because, record
from operations.models import Operation
from operations.transitions import StepEvent
from tests import factories
from tests.operations.fleet import WireNode, see


@dataclass
class World:
    """What was built. `droplets` and `operations` are by the word for how they stand."""

    call: Call
    admin: User
    droplets: dict[str, Resource]
    operations: dict[str, Operation]


def build_world(admin: User, call: Call) -> World:
    """Return the installation, made through intents and the wire protocol."""
    factories.make_zone(call, "europe", kind_label="region", jurisdiction="EU")
    for name in ("home", "away"):
        factories.make_zone(call, name, parent="europe", kind_label="rack")
    home = factories.make_node(call, "n1", zone="home", labels={"disk": "nvme"})
    away = factories.make_node(call, "n2", zone="away")
    _join_nobody(call)
    _certify(home, call)
    factories.make_image(call)
    factories.make_ssh_key(call)
    world = World(call, admin, {}, {})
    for state in ("running", "stopped", "crashed", "deleting", "gone"):
        _declare(world, state, power="stopped" if state == "stopped" else "running")
    _run_all(world, home)
    _declare(world, "waiting", memory_mib=1_000_000)
    _declare(world, "silent", zone="away")
    _run(world, "silent", away)
    _fall_silent(away, call)
    _delete(world, "gone", home, carried_out=True)
    _delete(world, "deleting", home, carried_out=False)
    for state in ("sent", "refused", "lost", "queued"):
        _declare(world, state)
    _send(world, home)
    _cancel(world)
    _find(home, call)
    return world


def _join_nobody(call: Call) -> None:
    create_node(call, name="n3", zone="home")


def _certify(node: WireNode, call: Call) -> None:
    NodeCertificate.objects.create(
        node_id=node.node_id,
        fingerprint="f" * 64,
        serial="1",
        key_digest="a" * 64,
        not_before=call.now,
        not_after=call.now + timedelta(days=30),
        issued_at=call.now,
    )


def _declare(world: World, name: str, *, zone: str = "home", **spec: object) -> None:
    metadata = Metadata(name=name, zone=zone, labels={"app": name}, protected=name == "stopped")
    sizes = {"image": "tiny", "memory_mib": 64, "ssh_keys": ("ada",), **spec}
    operation = create_droplet(world.call, metadata, DropletSpec(**sizes))
    world.operations[name] = operation
    world.droplets[name] = factories.resource_of(operation)
    advance(operation.pk, now=world.call.now)


def _run_all(world: World, node: WireNode) -> None:
    answer = node.poll(world.call.now)
    assert answer is not None
    seen = []
    for order in answer.orders:
        crashed = order.declaration.resource_id == world.droplets["crashed"].pk
        seen.append(see(order.declaration))
        result = StepResult(
            step_id=order.step_id,
            resource_id=order.declaration.resource_id,
            generation=order.declaration.generation,
            outcome=StepOutcome.DONE,
            observed=seen[-1],
        )
        node.report(world.call.now, results=(result,))
        if crashed:
            seen[-1] = see(order.declaration, GuestPower.CRASHED)
    node.report(world.call.now, inventory=Inventory(complete=True, droplets=tuple(seen)))
    for operation in world.operations.values():
        advance(operation.pk, now=world.call.now)


def _run(world: World, name: str, node: WireNode) -> None:
    answer = node.poll(world.call.now)
    assert answer is not None
    for order in answer.orders:
        node.finish(world.call.now, order)
    advance(world.operations[name].pk, now=world.call.now)


def _fall_silent(node: WireNode, call: Call) -> None:
    NodeCondition.objects.create(
        node_id=node.node_id,
        kind="unreachable",
        since=call.now - timedelta(minutes=7),
        message="Its agent has not been heard.",
    )


def _delete(world: World, name: str, node: WireNode, *, carried_out: bool) -> None:
    operation = delete_droplet(world.call, world.droplets[name].pk, confirm_name=name)
    world.operations[name] = operation
    advance(operation.pk, now=world.call.now)
    answer = node.poll(world.call.now)
    assert answer is not None
    if carried_out:
        for order in answer.orders:
            result = StepResult(
                step_id=order.step_id,
                resource_id=order.declaration.resource_id,
                generation=order.declaration.generation,
                outcome=StepOutcome.DONE,
            )
            node.report(world.call.now, results=(result,))
        advance(operation.pk, now=world.call.now)


def _send(world: World, node: WireNode) -> None:
    answer = node.poll(world.call.now)
    assert answer is not None
    for order in answer.orders:
        if order.declaration.resource_id != world.droplets["refused"].pk:
            continue
        result = StepResult(
            step_id=order.step_id,
            resource_id=order.declaration.resource_id,
            generation=order.declaration.generation,
            outcome=StepOutcome.REFUSED,
            reason="image_mismatch",
            message="The image's bytes do not match its digest.",
        )
        node.report(world.call.now, results=(result,))
    _lose(world.operations["lost"], world.call)


def _lose(operation: Operation, call: Call) -> None:
    step = operation.steps.get(kind="apply")
    record(step, StepEvent.LOSE, Because("The answer that carried it was lost."), now=call.now)


def _cancel(world: World) -> None:
    metadata = Metadata(name="cancelled", zone="home")
    spec = DropletSpec(image="tiny", memory_mib=1_000_000)
    operation = create_droplet(world.call, metadata, spec)
    world.operations["cancelled"] = cancel_operation(world.call, operation.pk)


def _find(node: WireNode, call: Call) -> None:
    FoundObject.objects.create(
        node=Node.objects.get(pk=node.node_id),
        native_id=str(uuid7()),
        name="started-by-hand",
        power="running",
        vcpus=2,
        memory_mib=1024,
        first_seen=call.now,
        last_seen=call.now,
    )
