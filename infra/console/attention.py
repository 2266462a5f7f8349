"""What is wrong, why, and what to do, from what was read. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from inventory.models import NodeCondition
from inventory.reads.attention import FleetAttention
from inventory.reads.nodes import UNREACHABLE
from operations.models import Operation
from operations.reads import OperationAttention, waiting_words


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that asks for a person. `subject` and `key` say which page tells more."""

    tone: str
    icon: str
    title: str
    why: str
    next_step: str
    subject: str
    key: str
    since: datetime | None


def problems(fleet: FleetAttention, operations: OperationAttention) -> Sequence[Problem]:
    """Return all problems, the worst first."""
    found = [
        *(_condition(condition) for condition in fleet.conditions),
        *_expiring(fleet),
        *(_uncertain(operation) for operation in operations.uncertain),
        *(_failed(operation) for operation in operations.failed),
        *(_waiting(operation) for operation in operations.waiting),
        *_joining(fleet),
    ]
    return sorted(found, key=lambda problem: ("bad", "warn", "busy").index(problem.tone))


def _condition(condition: NodeCondition) -> Problem:
    name = condition.node.name
    if condition.kind == UNREACHABLE:
        return Problem(
            "warn",
            "plug-connected-x",
            f"Node {name} is not reachable",
            condition.message
            or "Its agent has not reported. Its guests may be running all the same; a silence is "
            "no proof that they stopped.",
            "Look at the machine, its network and its agent. Nothing is moved until you know.",
            "node",
            name,
            condition.since,
        )
    return Problem(
        "warn",
        "alert-triangle",
        f"Node {name}: {condition.kind.replace('-', ' ').replace('_', ' ')}",
        condition.message,
        "Open the node to see what it can still do.",
        "node",
        name,
        condition.since,
    )


def _expiring(fleet: FleetAttention) -> Iterator[Problem]:
    for certificate in fleet.expiring:
        yield Problem(
            "bad",
            "certificate",
            f"The certificate of node {certificate.node.name} is about to end",
            "Agents renew long before the end, so this one cannot.",
            "Look at the agent's log on the node. Its guests are not touched by this.",
            "node",
            certificate.node.name,
            certificate.not_after,
        )


def _wish(operation: Operation) -> str:
    """Return what was asked for, such as "Create web-1"."""
    verb = operation.kind.rpartition(".")[2].replace("_", " ").capitalize()
    return f"{verb} {operation.resource_name}"


def _uncertain(operation: Operation) -> Problem:
    return Problem(
        "warn",
        "circle-half-2",
        f"{_wish(operation)}: the outcome is not known",
        "An order was sent and its answer was lost. The node is being asked what it did.",
        "Wait, or ask for a newer change: the newer one always wins.",
        "operation",
        str(operation.public_id),
        operation.started_at,
    )


def _failed(operation: Operation) -> Problem:
    return Problem(
        "bad",
        "circle-x",
        f"{_wish(operation)}: failed",
        "The node refused it, and said why.",
        "Open the operation to see the evidence, then retry or ask for something else.",
        "operation",
        str(operation.public_id),
        operation.finished_at,
    )


def _waiting(operation: Operation) -> Problem:
    return Problem(
        "warn",
        "clock",
        f"{_wish(operation)}: waits",
        waiting_words(operation.waiting_on),
        "Make room, add a node, or change the declaration. It goes on by itself when it can.",
        "operation",
        str(operation.public_id),
        operation.created_at,
    )


def _joining(fleet: FleetAttention) -> Iterator[Problem]:
    for node in fleet.joining:
        yield Problem(
            "busy",
            "login-2",
            f"Node {node.name} has not joined yet",
            "It was declared, but no machine has enrolled as it.",
            "Open the node, make a join command, and run it on the machine.",
            "node",
            node.name,
            node.created_at,
        )
