"""Which nodes may hold a request, each refusal with its first reason. Pure."""

from __future__ import annotations

from operations.scheduling.values import NodeFacts, PlacementRequest, Reason, Rule


def refuse(request: PlacementRequest, node: NodeFacts) -> Reason | None:
    """Return the first reason why the node cannot hold the request, or None if it can."""
    if not node.placeable:
        return Reason.LIFECYCLE
    if not node.reachable:
        return Reason.UNREACHABLE
    if node.compute is None:
        return Reason.NOT_TOLD
    if not node.compute:
        return Reason.NO_COMPUTE
    if request.zone_id is not None and request.zone_id not in node.zone_path:
        return Reason.ZONE
    return _refuse_amount(request, node) or _refuse_rules(request, node)


def _refuse_amount(request: PlacementRequest, node: NodeFacts) -> Reason | None:
    if request.amount.vcpus > min(node.room.vcpus, _most_vcpus(node)):
        return Reason.VCPUS
    if request.amount.memory_mib > node.room.memory_mib:
        return Reason.MEMORY
    if request.amount.disk_gib > node.room.disk_gib:
        return Reason.DISK
    return None


def _most_vcpus(node: NodeFacts) -> int:
    """One guest never gets more vCPUs than the node has: over-commit is between guests."""
    return node.capacity.vcpus


def _refuse_rules(request: PlacementRequest, node: NodeFacts) -> Reason | None:
    for rule in request.rules:
        met = _stands_with(rule, node)
        if rule.together and not met:
            return Reason.AFFINITY
        if not rule.together and met:
            return Reason.ANTI_AFFINITY
    return None


def _stands_with(rule: Rule, node: NodeFacts) -> bool:
    neighbours = node.zone_neighbours if rule.by_zone else node.neighbours
    return any(rule.labels <= labels for labels in neighbours)
