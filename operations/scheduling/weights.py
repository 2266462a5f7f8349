"""Which of the nodes that may hold a request is best. Pure."""

from __future__ import annotations

from operations.scheduling.values import NodeFacts, PlacementRequest


def score(request: PlacementRequest, node: NodeFacts) -> float:
    """Return a number from 0 to 1, higher for the node left most evenly and most freely filled.

    Spreading keeps the blast radius of a node small; balance between the dimensions keeps room
    usable: a node with memory but no vCPUs left is wasted.
    """
    shares = [
        _left(node.room.memory_mib - request.amount.memory_mib, node.capacity.memory_mib),
        _left(node.room.vcpus - request.amount.vcpus, node.capacity.vcpus),
        _left(node.room.disk_gib - request.amount.disk_gib, node.capacity.disk_gib),
    ]
    free = sum(shares) / len(shares)
    imbalance = max(shares) - min(shares)
    return max(0.0, 0.8 * free + 0.2 * (1 - imbalance))


def _left(left: int, capacity: int) -> float:
    return min(1.0, left / capacity) if capacity > 0 else 0.0
