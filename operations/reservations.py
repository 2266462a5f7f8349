"""Claims on a node's room: one guarded UPDATE, in the transaction of the placement.

The caller holds the resource's lock. The guard and the addition are one statement, so two claims
can never both pass; affinity is checked after it, under the node's row lock (and, for rules, a
lock of the owner's label space), with a fresh look at who stands there.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import F

from inventory.capacity import Amount
from inventory.lifecycles import NodeEvent, NodeLifecycle, advance_node
from inventory.models import Dependency, Droplet, Node, NodeLink, Placement, Relation, Resource
from operations.facts import node_facts, placement_request
from operations.models import Operation
from operations.outbox import publish
from operations.scheduling.filters import refuse
from operations.scheduling.placement import place
from operations.scheduling.values import NodeFacts, NoRoom, Placed, PlacementRequest, Reason

_CLAIM = """
UPDATE inventory_node
   SET used_vcpus = used_vcpus + %(vcpus)s,
       used_memory_mib = used_memory_mib + %(memory)s,
       used_disk_gib = used_disk_gib + %(disk)s
 WHERE id = %(node)s
   AND (%(held)s OR lifecycle = 'ready')
   AND (%(vcpus)s <= 0 OR used_vcpus + %(vcpus)s <= floor(vcpus * overcommit_vcpus))
   AND (%(memory)s <= 0 OR used_memory_mib + %(memory)s <= floor(memory_mib * overcommit_memory))
   AND (%(disk)s <= 0 OR used_disk_gib + %(disk)s <= floor(disk_gib * overcommit_disk))
"""

SNAPSHOTS = 3
"""How often a lost race looks again before the operation waits for its next turn."""


@dataclass(frozen=True)
class Reserved:
    """The placement that holds, and whether this call made or changed it."""

    placement: Placement
    changed: bool


@dataclass(frozen=True)
class Raced:
    """Others claimed every node that looked free; a later turn looks again."""

    tries: int


def reserve(
    operation: Operation, resource: Resource, *, now: datetime
) -> Reserved | NoRoom | Raced:
    """Return the placement of a droplet with room for what it declares, or why there is none."""
    droplet = Droplet.objects.get(resource=resource)
    held = active_placement(resource.pk)
    if held is not None:
        return _fit(held, droplet.amount)
    request = placement_request(resource, droplet)
    if request.rules:
        _lock_labels(resource.owner_id)
    tries = 0
    for attempt in range(SNAPSHOTS):
        nodes = node_facts(resource, with_neighbours=bool(request.rules))
        answer = place(request, nodes, turn=operation.pk.int + attempt)
        if isinstance(answer, NoRoom):
            return answer
        placement = _claim_first(operation, resource, request, answer, now=now)
        if placement is not None:
            return Reserved(placement, changed=True)
        tries += 1 + len(answer.others)
    return Raced(tries)


def active_placement(resource_id: UUID) -> Placement | None:
    """Return the placement that holds, if any."""
    return (
        Placement.objects.select_related("node")
        .filter(resource_id=resource_id, released_at__isnull=True)
        .first()
    )


def _claim_first(
    operation: Operation,
    resource: Resource,
    request: PlacementRequest,
    answer: Placed,
    *,
    now: datetime,
) -> Placement | None:
    for node_id in (answer.node_id, *answer.others):
        with transaction.atomic():
            if not _claim(node_id, request.amount, held=False):
                continue
            if request.rules and _rule_broken(resource, request, node_id):
                transaction.set_rollback(True)
                continue
            return _commit(operation, resource, request.amount, node_id, answer, now=now)
    return None


def _claim(node_id: UUID, amount: Amount, *, held: bool) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            _CLAIM,
            {
                "node": node_id,
                "held": held,
                "vcpus": amount.vcpus,
                "memory": amount.memory_mib,
                "disk": amount.disk_gib,
            },
        )
        changed: int = cursor.rowcount
    return changed == 1


def _rule_broken(resource: Resource, request: PlacementRequest, node_id: UUID) -> bool:
    """Look again under the locks; the room was just claimed, so it is not counted again."""
    fresh: list[NodeFacts] = [
        node for node in node_facts(resource, with_neighbours=True) if node.id == node_id
    ]
    nothing = PlacementRequest(Amount(0, 0, 0), request.zone_id, request.rules, request.own_labels)
    return not fresh or refuse(nothing, fresh[0]) is not None


def _commit(
    operation: Operation,
    resource: Resource,
    amount: Amount,
    node_id: UUID,
    answer: Placed,
    *,
    now: datetime,
) -> Placement:
    link = NodeLink.objects.filter(node_id=node_id).first()
    placement = Placement.objects.create(
        resource=resource,
        node_id=node_id,
        vcpus=amount.vcpus,
        memory_mib=amount.memory_mib,
        disk_gib=amount.disk_gib,
        operation_id=operation.pk,
        explanation={
            "refused": {reason.value: count for reason, count in answer.refused.items()},
            "scores": dict(answer.scores),
        },
        committed_ordinal=link.incarnation_ordinal if link else 0,
        committed_sequence=link.sequence if link else 0,
        claimed_at=now,
    )
    Dependency.objects.create(
        dependent=resource, relation=Relation.EXECUTES_ON, node_id=node_id, since=now
    )
    publish("node", "claimed", node_id, now=now, operation_id=operation.pk)
    return placement


def fit(resource: Resource, amount: Amount) -> Reserved | NoRoom | None:
    """Give a droplet's placement the room of `amount`; None when it stands nowhere."""
    held = active_placement(resource.pk)
    return None if held is None else _fit(held, amount)


def _fit(placement: Placement, amount: Amount) -> Reserved | NoRoom:
    """Give a placement the room its droplet now declares, on the node where it stands."""
    change = amount - placement.amount
    if change == Amount(0, 0, 0):
        return Reserved(placement, changed=False)
    if not _claim(placement.node_id, change, held=True):
        return NoRoom(_short_of(placement.node, change), 1)
    placement.vcpus, placement.memory_mib, placement.disk_gib = (
        amount.vcpus,
        amount.memory_mib,
        amount.disk_gib,
    )
    placement.save(update_fields=["vcpus", "memory_mib", "disk_gib"])
    return Reserved(placement, changed=True)


def _short_of(node: Node, change: Amount) -> dict[Reason, int]:
    node.refresh_from_db()
    if node.used_memory_mib + change.memory_mib > node.memory_mib * node.overcommit_memory:
        return {Reason.MEMORY: 1}
    if node.used_disk_gib + change.disk_gib > node.disk_gib * node.overcommit_disk:
        return {Reason.DISK: 1}
    return {Reason.VCPUS: 1}


def release(resource: Resource, *, now: datetime) -> Placement | None:
    """Give back the room of a droplet that is proven absent; None when it held none."""
    placement = active_placement(resource.pk)
    if placement is None:
        return None
    placement.released_at = now
    placement.save(update_fields=["released_at"])
    Node.objects.filter(pk=placement.node_id).update(
        used_vcpus=F("used_vcpus") - placement.vcpus,
        used_memory_mib=F("used_memory_mib") - placement.memory_mib,
        used_disk_gib=F("used_disk_gib") - placement.disk_gib,
    )
    Dependency.objects.filter(dependent=resource, relation=Relation.EXECUTES_ON).delete()
    _finish_drain(placement.node_id)
    look_for_room(now=now)
    publish("node", "released", placement.node_id, now=now)
    return placement


def _finish_drain(node_id: UUID) -> None:
    node = Node.objects.select_for_update(no_key=True, of=("self",)).get(pk=node_id)
    held = Placement.objects.filter(node_id=node_id, released_at__isnull=True).exists()
    if node.lifecycle == NodeLifecycle.DRAINING and not held:
        node.lifecycle = advance_node(NodeLifecycle.DRAINING, NodeEvent.EMPTY)
        node.save(update_fields=["lifecycle"])


def look_for_room(*, now: datetime) -> None:
    """Make every operation that waits for room due: some may fit now."""
    Operation.objects.filter(
        finished_at__isnull=True, waiting_on__code="no_room", due_at__gt=now
    ).update(due_at=now)


def _lock_labels(owner_id: UUID) -> None:
    """Serialise the claims of one owner that carry rules: two at once could both pass the check."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [owner_id.int % 2**62])
