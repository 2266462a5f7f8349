"""Placement: choose on a snapshot. The claim decides; a lost race chooses again. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from operations.scheduling.filters import refuse
from operations.scheduling.values import NodeFacts, NoRoom, Placed, PlacementRequest, Reason
from operations.scheduling.weights import score

TRIES = 8
"""How many nodes of one snapshot are tried: the claim of each may be lost to another worker."""


def place(
    request: PlacementRequest, nodes: Sequence[NodeFacts], *, turn: int = 0
) -> Placed | NoRoom:
    """Return the best nodes for a request, or why there is none.

    `turn` breaks ties between equals: callers pass different numbers so that many placements at
    once do not all run at the same node. Equal inputs give equal answers.
    """
    refused: Counter[Reason] = Counter()
    fitting: list[NodeFacts] = []
    for node in nodes:
        reason = refuse(request, node)
        if reason is None:
            fitting.append(node)
        else:
            refused[reason] += 1
    if not fitting:
        return NoRoom(dict(refused), len(nodes))
    scores = {node.id: round(score(request, node), 2) for node in fitting}
    ranked = sorted(fitting, key=lambda node: (-scores[node.id], (node.id.int ^ turn) % 2**64))
    best = ranked[:TRIES]
    return Placed(
        node_id=best[0].id,
        others=tuple(node.id for node in best[1:]),
        refused=dict(refused),
        scores={node.name: scores[node.id] for node in best},
    )
