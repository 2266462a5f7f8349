"""How each kind of manifest is compared and applied. A new kind of resource adds one line.

The order of KINDS is the order of application: what others refer to comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Protocol
from uuid import UUID

from pydantic import Field

from inventory.access import Actor, access_owner, access_zone
from inventory.errors import Conflict, NotFound, invalid
from inventory.models import Kind, Resource, Zone
from inventory.specs.base import Spec, Text, check_labels, check_name, parse_spec
from operations.intents.call import Call
from operations.intents.kinds import KINDS as RESOURCES
from operations.intents.resources import Metadata, set_labels, set_protection
from operations.intents.zones import change_zone, create_zone
from operations.manifests.comparing import (
    Action,
    Change,
    Planned,
    action_of,
    differences,
    droplet_warnings,
)
from operations.manifests.documents import ManifestDocument, Placed
from operations.models import Operation

ShortText = Annotated[Text, Field(max_length=50)]


class ManifestKind(Protocol):
    """What a kind must know. `plan` only reads; `apply` writes in the caller's transaction."""

    @property
    def has_owner(self) -> bool:
        """Return whether objects of the kind belong to an owner."""

    @property
    def spec(self) -> type[Spec]:
        """Return the shape of the document's spec."""

    def plan(self, actor: Actor, placed: Placed) -> Planned: ...

    def apply(
        self, call: Call, placed: Placed, planned: Planned, parent_id: UUID
    ) -> Operation | None: ...

    def after(self, document: ManifestDocument) -> str | None:
        """Return the name of an object of the same kind that must be there first."""


class ZoneSpec(Spec):
    """The declared document of a zone."""

    parent: Text | None = None
    kind_label: ShortText = ""
    jurisdiction: ShortText = ""


@dataclass(frozen=True)
class ZoneManifest:
    """Zones: facts, so applying them opens no operation."""

    has_owner = False

    @property
    def spec(self) -> type[Spec]:
        return ZoneSpec

    def plan(self, actor: Actor, placed: Placed) -> Planned:
        document, spec = placed.document, _zone_spec(placed.document)
        name = check_name(document.metadata.name)
        zone = Zone.objects.select_related("parent").filter(name=name).first()
        if zone is None:
            return Planned(placed.index, document.kind, name, Action.CREATE)
        before = {
            "metadata": {"labels": zone.labels},
            "spec": {
                "parent": zone.parent.name if zone.parent else None,
                "kind_label": zone.kind_label,
                "jurisdiction": zone.jurisdiction,
            },
        }
        after = {
            "metadata": {"labels": check_labels(document.metadata.labels)},
            "spec": spec.model_dump() | {"parent": _parent_name(actor, spec.parent)},
        }
        changes = differences(before, after)
        return Planned(
            placed.index, document.kind, name, action_of(changes), changes,
            existing=zone.pk, revision=zone.revision,
        )  # fmt: skip

    def apply(
        self, call: Call, placed: Placed, planned: Planned, parent_id: UUID
    ) -> Operation | None:
        del parent_id
        spec, labels = _zone_spec(placed.document), placed.document.metadata.labels
        if planned.existing is None:
            create_zone(call, name=planned.name, labels=labels, **spec.model_dump())
            return None
        change_zone(
            call,
            planned.existing,
            labels=labels,
            to_root=spec.parent is None,
            **spec.model_dump(),
        )
        return None

    def after(self, document: ManifestDocument) -> str | None:
        parent = document.spec.get("parent")
        return parent if isinstance(parent, str) else None


def _zone_spec(document: ManifestDocument) -> ZoneSpec:
    for field in ("owner", "zone"):
        if getattr(document.metadata, field) is not None:
            raise invalid(f"/metadata/{field}", "unknown", f"A zone has no {field}.")
    if document.metadata.protected:
        raise invalid("/metadata/protected", "unknown", "Zones are not protected.")
    return parse_spec(ZoneSpec, document.spec)


def _parent_name(actor: Actor, key: str | None) -> str | None:
    if key is None:
        return None
    try:
        return access_zone(actor, key).name
    except NotFound:
        return key  # made by the same manifest, or refused when it is applied


Warn = Callable[[tuple[Change, ...]], tuple[str, ...]]


def _no_warnings(changes: tuple[Change, ...]) -> tuple[str, ...]:
    del changes
    return ()


@dataclass(frozen=True)
class ResourceManifest:
    """Resources of one kind: applying one opens an operation, unless nothing moves on a node."""

    kind: Kind
    warn: Warn = _no_warnings
    has_owner = True

    @property
    def spec(self) -> type[Spec]:
        return RESOURCES[self.kind].spec

    def plan(self, actor: Actor, placed: Placed) -> Planned:
        document = placed.document
        metadata = document.metadata
        owner = access_owner(actor, metadata.owner)
        name = check_name(metadata.name)
        spec = parse_spec(RESOURCES[self.kind].spec, document.spec).model_dump(mode="json")
        labels = check_labels(metadata.labels)
        rows = Resource.objects.select_related("zone").filter(kind=self.kind, name=name)
        row = rows.filter(owner=owner, deleted_at__isnull=True).first()
        if row is None:
            return Planned(placed.index, document.kind, name, Action.CREATE)
        if row.absent:
            raise Conflict(
                "resource.deleting",
                f"{self.kind} {name} is being deleted. Nothing changed; wait for that to end.",
            )
        self._check_zone(actor, row, metadata.zone)
        changes = differences(
            {"metadata": {"labels": row.labels, "protected": row.protected}, "spec": row.spec},
            {"metadata": {"labels": labels, "protected": metadata.protected}, "spec": spec},
        )
        return Planned(
            placed.index, document.kind, name, action_of(changes), changes, self.warn(changes),
            existing=row.pk, revision=row.revision,
        )  # fmt: skip

    def _check_zone(self, actor: Actor, row: Resource, wanted: str | None) -> None:
        if wanted is not None and access_zone(actor, wanted).pk != row.zone_id:
            here = f"in zone {row.zone.name}" if row.zone else "in no zone"
            message = f"It is declared {here}; a {self.kind} does not change its zone."
            raise invalid("/metadata/zone", "immutable", message)

    def apply(
        self, call: Call, placed: Placed, planned: Planned, parent_id: UUID
    ) -> Operation | None:
        document, intents = placed.document, RESOURCES[self.kind]
        said = document.metadata
        metadata = Metadata(said.name, said.owner, said.zone, said.labels, said.protected)
        if planned.existing is None:
            return intents.declare(call, metadata, document.spec, parent_id=parent_id)
        if any(change.pointer.startswith("/spec") for change in planned.changes):
            return intents.redeclare(
                call, planned.existing, metadata, document.spec, parent_id=parent_id
            )
        changed = {change.pointer.split("/")[2] for change in planned.changes}
        if "labels" in changed:
            set_labels(call, planned.existing, said.labels)
            call = replace(call, expected_revision=None)  # it was compared just now
        if "protected" in changed:
            set_protection(call, planned.existing, protected=said.protected)
        return None

    def after(self, document: ManifestDocument) -> str | None:
        del document
        return None


KINDS: Mapping[str, ManifestKind] = MappingProxyType(
    {
        "Zone": ZoneManifest(),
        "Image": ResourceManifest(Kind.IMAGE),
        "SshKey": ResourceManifest(Kind.SSH_KEY),
        "Droplet": ResourceManifest(Kind.DROPLET, droplet_warnings),
    }
)


def find_kind(placed: Placed) -> ManifestKind:
    """Return what knows the document's kind. Raises Invalid."""
    found = KINDS.get(placed.document.kind)
    if found is None:
        raise invalid("/kind", "kind", f"Known kinds are {', '.join(KINDS)}.")
    return found
