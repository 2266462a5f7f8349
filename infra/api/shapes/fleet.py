"""Zones, nodes and what is found on nodes, as documents and bodies."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

from pydantic import Field

from infra.api.shapes.base import (
    AmountShape,
    Body,
    Key,
    Labels,
    Name,
    Ref,
    Shape,
    amount,
    ref,
    zone_ref,
)
from inventory.capacity import allocatable
from inventory.models import FoundObject, Node, NodeCertificate, NodeCondition, NodeLink, Zone
from inventory.specs.base import Text

ShortText = Annotated[Text, Field(max_length=200)]
Factor = Annotated[Decimal, Field(strict=False, max_digits=5, decimal_places=2)]


class ZoneShape(Shape):
    """A zone. `jurisdiction` is its own; empty means its parent's."""

    id: UUID
    name: str
    parent: Ref | None
    kind_label: str
    jurisdiction: str
    labels: Labels
    revision: int
    created_at: datetime


class NewZone(Body):
    """A zone to be drawn."""

    name: Name
    parent: Key | None = None
    kind_label: ShortText = ""
    jurisdiction: ShortText = ""
    labels: Labels = {}


class ZonePatch(Body):
    """What is to change; `parent: null` takes the zone out of its parent."""

    name: Name | None = None
    parent: Key | None = None
    kind_label: ShortText | None = None
    jurisdiction: ShortText | None = None
    labels: Labels | None = None


class ConditionShape(Shape):
    """Something that is so about a node just now."""

    kind: str
    message: str
    since: datetime


class OverCommitShape(Shape):
    """How many times what is there may be promised."""

    vcpus: float
    memory: float
    disk: float


class NodeShape(Shape):
    """A node: what people declare, what its agent tells, and when it was last heard."""

    id: UUID
    name: str
    zone: Ref
    lifecycle: str
    conditions: list[ConditionShape]
    labels: Labels
    over_commit: OverCommitShape
    address: str
    agent_version: str
    capacity: AmountShape
    allocatable: AmountShape
    used: AmountShape
    capabilities: dict[str, object]
    problems: dict[str, object]
    last_seen: datetime | None
    revision: int
    created_at: datetime
    joined_at: datetime | None


class CertificateShape(Shape):
    """A node's certificate."""

    fingerprint: str
    serial: str
    not_before: datetime
    not_after: datetime
    first_used_at: datetime | None
    revoked_at: datetime | None
    revoked_because: str


class NodeDetailShape(NodeShape):
    """A node with the facts its agent told and its newest certificates."""

    details: dict[str, object]
    certificates: list[CertificateShape]


class NewNode(Body):
    """A node to be declared; a token then lets one machine become it."""

    name: Name
    zone: Key
    labels: Labels = {}
    over_commit: dict[str, Factor] | None = None


class NodePatch(Body):
    """What is to change of what people declare."""

    name: Name | None = None
    zone: Key | None = None
    labels: Labels | None = None
    over_commit: dict[str, Factor] | None = None


class NodeTokenShape(Shape):
    """A token that lets one machine become the node; shown only now.

    `authority` is the certificate to trust, in PEM; the command puts it in place itself.
    """

    token: str
    url: str
    authority: str
    command: str
    expires_at: datetime


class RevocationBody(Body):
    """Why the certificates end."""

    because: Annotated[Text, Field(min_length=1, max_length=200)] = "revoked by a person"


class RevokedShape(Shape):
    """How many certificates ended."""

    revoked: int


class FoundShape(Shape):
    """A guest on a node that this inventory did not declare. Listed, never touched."""

    id: UUID
    node: Ref
    native_id: str
    name: str
    power: str
    vcpus: int
    memory_mib: int
    installation_id: UUID | None
    first_seen: datetime
    last_seen: datetime


def show_zone(row: Zone) -> ZoneShape:
    """Return a zone; its parent should have been joined."""
    return ZoneShape(
        id=row.pk,
        name=row.name,
        parent=zone_ref(row.parent),
        kind_label=row.kind_label,
        jurisdiction=row.jurisdiction,
        labels=row.labels,
        revision=row.revision,
        created_at=row.created_at,
    )


def node_fields(
    row: Node, link: NodeLink | None, conditions: Sequence[NodeCondition]
) -> dict[str, object]:
    """Return the fields of NodeShape."""
    return {
        "id": row.pk,
        "name": row.name,
        "zone": ref(row.zone),
        "lifecycle": row.lifecycle,
        "conditions": [
            ConditionShape(kind=each.kind, message=each.message, since=each.since)
            for each in conditions
        ],
        "labels": row.labels,
        "over_commit": OverCommitShape(
            vcpus=float(row.overcommit_vcpus),
            memory=float(row.overcommit_memory),
            disk=float(row.overcommit_disk),
        ),
        "address": row.address,
        "agent_version": row.agent_version,
        "capacity": amount(row.capacity),
        "allocatable": amount(allocatable(row.capacity, row.over_commit)),
        "used": amount(row.used),
        "capabilities": row.capabilities,
        "problems": row.problems,
        "last_seen": link.last_seen if link else None,
        "revision": row.revision,
        "created_at": row.created_at,
        "joined_at": row.joined_at,
    }


def show_node(row: Node) -> NodeShape:
    """Return a row of the list; link and conditions should have been fetched with it."""
    link: NodeLink | None = getattr(row, "link", None)
    return NodeShape.model_validate(node_fields(row, link, list(row.conditions.all())))


def show_node_detail(row: Node, certificates: Sequence[NodeCertificate]) -> NodeDetailShape:
    """Return a node in full."""
    link: NodeLink | None = getattr(row, "link", None)
    return NodeDetailShape.model_validate(
        {
            **node_fields(row, link, list(row.conditions.all())),
            "details": row.details,
            "certificates": [_certificate(each) for each in certificates],
        }
    )


def _certificate(row: NodeCertificate) -> CertificateShape:
    return CertificateShape(
        fingerprint=row.fingerprint,
        serial=row.serial,
        not_before=row.not_before,
        not_after=row.not_after,
        first_used_at=row.first_used_at,
        revoked_at=row.revoked_at,
        revoked_because=row.revoked_because,
    )


def show_found(row: FoundObject) -> FoundShape:
    """Return a found guest; its node should have been joined."""
    return FoundShape(
        id=row.pk,
        node=ref(row.node),
        native_id=row.native_id,
        name=row.name,
        power=row.power,
        vcpus=row.vcpus,
        memory_mib=row.memory_mib,
        installation_id=row.installation_id,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
    )
