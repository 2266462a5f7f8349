"""Rows -> the frozen values that planners and the scheduler take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from inventory.capacity import allocatable
from inventory.lifecycles import PLACEABLE
from inventory.models import Droplet, Node, Placement, Resource, ResourceObservation, Zone
from inventory.specs import DropletSpec
from inventory.specs.droplets import AffinityMode, AffinityScope
from operations.planning.droplets import Seen, Wanted
from operations.scheduling.values import NodeFacts, PlacementRequest, Rule

Labels = frozenset[tuple[str, str]]


def placement_request(resource: Resource, droplet: Droplet) -> PlacementRequest:
    """Return what is to be placed for a droplet."""
    spec = DropletSpec.model_validate(resource.spec)
    return PlacementRequest(
        amount=droplet.amount,
        zone_id=resource.zone_id,
        rules=tuple(
            Rule(
                together=rule.mode == AffinityMode.TOGETHER,
                by_zone=rule.scope == AffinityScope.ZONE,
                labels=frozenset(rule.labels.items()),
            )
            for rule in spec.affinity
        ),
        own_labels=frozenset(resource.labels.items()),
    )


def node_facts(resource: Resource, *, with_neighbours: bool) -> list[NodeFacts]:
    """Return all nodes that have not left as placement sees them now, in at most four queries.

    Neighbours (the labels of the same owner's other droplets) are read only when a rule asks.
    """
    nodes = list(
        Node.objects.exclude(lifecycle="left").prefetch_related("conditions").order_by("pk")
    )
    paths = zone_paths()
    by_node, by_zone = _neighbours(resource, nodes) if with_neighbours else ({}, {})
    return [
        NodeFacts(
            id=node.pk,
            name=node.name,
            zone_path=paths.get(node.zone_id, (node.zone_id,)),
            placeable=node.lifecycle in PLACEABLE,
            reachable=all(condition.kind != "unreachable" for condition in node.conditions.all()),
            compute=_compute(node),
            room=allocatable(node.capacity, node.over_commit) - node.used,
            capacity=node.capacity,
            neighbours=tuple(by_node.get(node.pk, ())),
            zone_neighbours=tuple(by_zone.get(node.zone_id, ())),
        )
        for node in nodes
    ]


def _compute(node: Node) -> bool | None:
    """Return whether the node can run guests; None while its agent has told nothing yet."""
    told = node.agent_version or node.capabilities
    return bool(node.capabilities.get("compute")) if told else None


def zone_paths() -> dict[UUID, tuple[UUID, ...]]:
    """Return, for every zone, itself and the zones it stands in, innermost first."""
    parents: dict[UUID, UUID | None] = dict(Zone.objects.values_list("pk", "parent_id"))
    return {zone: tuple(_upwards(zone, parents)) for zone in parents}


def _upwards(zone: UUID, parents: dict[UUID, UUID | None]) -> Iterable[UUID]:
    seen: set[UUID] = set()
    at: UUID | None = zone
    while at is not None and at not in seen:
        seen.add(at)
        yield at
        at = parents.get(at)


def _neighbours(
    resource: Resource, nodes: list[Node]
) -> tuple[dict[UUID, list[Labels]], dict[UUID, list[Labels]]]:
    zone_of = {node.pk: node.zone_id for node in nodes}
    by_node: dict[UUID, list[Labels]] = defaultdict(list)
    by_zone: dict[UUID, list[Labels]] = defaultdict(list)
    placements = (
        Placement.objects.filter(released_at__isnull=True, resource__owner_id=resource.owner_id)
        .exclude(resource_id=resource.pk)
        .values_list("node_id", "resource__labels")
    )
    for node_id, labels in placements:
        pairs = frozenset(labels.items())
        by_node[node_id].append(pairs)
        by_zone[zone_of.get(node_id, node_id)].append(pairs)
    return by_node, by_zone


def wanted_droplet(resource: Resource, droplet: Droplet) -> Wanted:
    """Return what is declared, as far as drift is concerned."""
    return Wanted(power=droplet.power, generation=(resource.epoch, resource.generation))


def seen_droplet(observation: ResourceObservation | None, placement: Placement) -> Seen | None:
    """Return what the placement's node said last, or None when it has said nothing that counts.

    Absence counts only from a list newer than the placement's commit.
    """
    if observation is None or not observation.presence:
        return None
    newer = (observation.ordinal, observation.sequence) > (
        placement.committed_ordinal,
        placement.committed_sequence,
    )
    absent = observation.presence == ResourceObservation.Presence.ABSENT
    if absent and not newer:
        return None
    return Seen(
        absent=absent,
        power=observation.power,
        ledger_generation=(observation.ledger_epoch, observation.ledger_generation),
        ledger_absent=observation.ledger_absent,
    )
