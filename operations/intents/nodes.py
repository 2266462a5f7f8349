"""Intents of nodes: declaring one, its zone, labels and over-commit, and its lifecycle."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from uuid import UUID

from django.db import IntegrityError, transaction

from inventory.access import access_node, access_zone, check_may_administer
from inventory.errors import Conflict, invalid
from inventory.lifecycles import IllegalNodeTransition, NodeEvent, NodeLifecycle, advance_node
from inventory.models import Node, NodeLink, Placement
from inventory.specs.base import check_labels, check_name
from operations.audit import record_audit
from operations.enrolment import revoke_node_certificates
from operations.intents.call import Call, check_revision, door
from operations.outbox import publish, wake_node

OVERCOMMIT_RANGE = (Decimal("0.1"), Decimal(64))
"""Below, nothing fits; above, the number no longer says anything about the machine."""


def create_node(
    call: Call,
    *,
    name: str,
    zone: UUID | str,
    labels: Mapping[str, str] | None = None,
    over_commit: Mapping[str, Decimal] | None = None,
) -> Node:
    """Return a new node in `joining`; a token lets one machine become it."""
    check_may_administer(call.actor, "create a node", name)
    with door(call):
        node = Node(
            name=check_name(name),
            zone=access_zone(call.actor, zone),
            labels=check_labels(labels or {}),
        )
        _set_over_commit(node, over_commit)
        _save(node)
        NodeLink.objects.create(node=node)
        _tell(call, "node.create", node, before=None)
    return node


def change_node(
    call: Call,
    key: UUID | str,
    *,
    name: str | None = None,
    zone: UUID | str | None = None,
    labels: Mapping[str, str] | None = None,
    over_commit: Mapping[str, Decimal] | None = None,
) -> Node:
    """Change what is given of what people declare of a node."""
    with door(call):
        node = _lock(call, key, "change")
        before = node_document(node)
        node.name = check_name(name) if name is not None else node.name
        node.zone = access_zone(call.actor, zone) if zone is not None else node.zone
        node.labels = check_labels(labels) if labels is not None else node.labels
        _set_over_commit(node, over_commit)
        node.revision += 1
        _save(node)
        _tell(call, "node.change", node, before=before)
    return node


def move_lifecycle(call: Call, key: UUID | str, event: NodeEvent) -> Node:
    """Move a node's lifecycle by a person's event. Raises Conflict where the table has no row.

    A node that drains with nothing on it is drained at once, one that leaves has left.
    """
    with door(call):
        node = _lock(call, key, event)
        before = node_document(node)
        _advance(node, event)
        holds = Placement.objects.filter(node=node, released_at__isnull=True).exists()
        if node.lifecycle == NodeLifecycle.DRAINING and not holds:
            _advance(node, NodeEvent.EMPTY)
        if node.lifecycle == NodeLifecycle.LEAVING and not holds:
            _advance(node, NodeEvent.DEPART)
        if node.lifecycle == NodeLifecycle.LEFT:
            node.certificates.filter(revoked_at__isnull=True).update(
                revoked_at=call.now, revoked_because="the node left"
            )
        node.revision += 1
        node.save()
        wake_node(node.pk)
        _tell(call, f"node.{event}", node, before=before)
    return node


def revoke_certificates(call: Call, key: UUID | str, because: str) -> int:
    """Revoke all certificates and tokens of a node and return how many certificates ended.

    Its guests run on; the node is deaf until a machine enrols as it again.
    """
    with door(call):
        node = _lock(call, key, "revoke the certificates of")
        revoked = revoke_node_certificates(node, because, now=call.now)
        node.revision += 1
        node.save(update_fields=["revision"])
        record_audit(
            call,
            "node.revoke",
            kind="node",
            object_id=node.pk,
            name=node.name,
            after={"because": because, "revoked": revoked},
        )
        publish("node", "revoke", node.pk, now=call.now)
    return revoked


def node_document(node: Node) -> dict[str, object]:
    """Return what people declared of a node, for audit."""
    return {
        "name": node.name,
        "zone": str(node.zone_id),
        "lifecycle": node.lifecycle,
        "labels": node.labels,
        "over_commit": {
            "vcpus": str(node.overcommit_vcpus),
            "memory": str(node.overcommit_memory),
            "disk": str(node.overcommit_disk),
        },
    }


def _lock(call: Call, key: UUID | str, action: str) -> Node:
    found = access_node(call.actor, key)
    check_may_administer(call.actor, f"{action} node", found.name)
    node = Node.objects.select_for_update(no_key=True, of=("self",)).get(pk=found.pk)
    check_revision(call, node.revision)
    return node


def _advance(node: Node, event: NodeEvent) -> None:
    try:
        node.lifecycle = advance_node(NodeLifecycle(node.lifecycle), event)
    except IllegalNodeTransition as error:
        raise Conflict(
            "node.lifecycle",
            f"{error} Nothing changed.",
            {"lifecycle": error.state, "event": error.event},
        ) from None


def _set_over_commit(node: Node, over_commit: Mapping[str, Decimal] | None) -> None:
    low, high = OVERCOMMIT_RANGE
    for part, value in (over_commit or {}).items():
        if part not in {"vcpus", "memory", "disk"}:
            raise invalid(f"/over_commit/{part}", "unknown", "Known are vcpus, memory and disk.")
        if not value.is_finite() or not low <= value <= high:
            raise invalid(f"/over_commit/{part}", "range", f"Between {low} and {high}.")
        setattr(node, f"overcommit_{part}", value)


def _save(node: Node) -> None:
    try:
        with transaction.atomic():
            node.save()
    except IntegrityError:
        raise Conflict(
            "node.name_taken",
            f"There already is a node named {node.name}. Nothing changed; a node that has left "
            "frees its name.",
        ) from None


def _tell(call: Call, action: str, node: Node, *, before: dict[str, object] | None) -> None:
    record_audit(
        call,
        action,
        kind="node",
        object_id=node.pk,
        name=node.name,
        before=before,
        after=node_document(node),
    )
    publish("node", action.removeprefix("node."), node.pk, now=call.now)
