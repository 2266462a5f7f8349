"""The life of a node as a table. Conditions such as `unreachable` stand apart from it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class NodeLifecycle(StrEnum):
    """Where a node stands between joining and having left."""

    JOINING = "joining"
    READY = "ready"
    DRAINING = "draining"
    DRAINED = "drained"
    LEAVING = "leaving"
    LEFT = "left"


class NodeEvent(StrEnum):
    """What may happen to a node's lifecycle."""

    ENROL = "enrol"
    DRAIN = "drain"
    EMPTY = "empty"
    RESUME = "resume"
    LEAVE = "leave"
    DEPART = "depart"


_L, _E = NodeLifecycle, NodeEvent

NODE_TRANSITIONS: Mapping[tuple[NodeLifecycle, NodeEvent], NodeLifecycle] = MappingProxyType(
    {
        (_L.JOINING, _E.ENROL): _L.READY,
        (_L.JOINING, _E.LEAVE): _L.LEFT,
        # A node that enrols again (new key, same node) keeps its place in life.
        (_L.READY, _E.ENROL): _L.READY,
        (_L.READY, _E.DRAIN): _L.DRAINING,
        (_L.DRAINING, _E.ENROL): _L.DRAINING,
        (_L.DRAINING, _E.EMPTY): _L.DRAINED,
        (_L.DRAINING, _E.RESUME): _L.READY,
        (_L.DRAINED, _E.ENROL): _L.DRAINED,
        (_L.DRAINED, _E.RESUME): _L.READY,
        (_L.DRAINED, _E.LEAVE): _L.LEAVING,
        (_L.LEAVING, _E.DEPART): _L.LEFT,
    }
)


class IllegalNodeTransition(ValueError):
    """The event is not defined in this state."""

    def __init__(self, state: NodeLifecycle, event: NodeEvent) -> None:
        super().__init__(f"A node that is {state} cannot {event}.")
        self.state = state
        self.event = event


def advance_node(state: NodeLifecycle, event: NodeEvent) -> NodeLifecycle:
    """Return the state after the event. Raises IllegalNodeTransition."""
    try:
        return NODE_TRANSITIONS[state, event]
    except KeyError:
        raise IllegalNodeTransition(state, event) from None


PLACEABLE = frozenset({NodeLifecycle.READY})
"""Only here may new work be placed."""
