"""Resources as documents, and the bodies that declare and change them."""

from __future__ import annotations

from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from pydantic import Field

from infra.api.shapes.base import Body, Key, Labels, Name, Ref, Shape, ref, zone_ref
from inventory.models import Resource
from inventory.specs import DropletSpec, ImageSpec, SshKeySpec
from operations.intents.resources import Metadata

SpecBody = TypeVar("SpecBody")


class ResourceShape(Shape):
    """A declaration of any kind.

    `generation` is epoch.counter; `revision` is what If-Match names.
    """

    id: UUID
    public_id: int
    kind: str
    name: str
    owner: Ref
    zone: Ref | None
    labels: Labels
    protected: bool
    generation: str
    revision: int
    absent: bool = Field(description="it is declared to be gone")
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    spec: dict[str, object]


class ImageShape(ResourceShape):
    """An image; `spec` names its bytes."""


class SshKeyShape(ResourceShape):
    """A public key; `fingerprint` is OpenSSH's."""

    fingerprint: str


class NewResource(Body, Generic[SpecBody]):
    """A resource to be declared. Owner and zone by name or id; the default owner when left out."""

    name: Name
    owner: Key | None = None
    zone: Key | None = None
    labels: Labels = {}
    protected: bool = False
    spec: SpecBody

    def metadata(self) -> Metadata:
        """Return what is said beside the spec, as intents take it."""
        return Metadata(
            name=self.name,
            owner=self.owner,
            zone=self.zone,
            labels=self.labels,
            protected=self.protected,
        )


class NewDroplet(NewResource[DropletSpec]):
    """A droplet to be declared."""


class NewImage(NewResource[ImageSpec]):
    """An image to be declared."""


class NewSshKey(NewResource[SshKeySpec]):
    """A public key to be declared."""


class NewAnyResource(NewResource[dict[str, object]]):
    """A resource of any kind to be declared."""

    kind: str


class ResourcePatch(Body):
    """What is to change: `spec` is merged as RFC 7396 has it; what is left out stays."""

    labels: Labels | None = None
    protected: bool | None = None
    spec: dict[str, object] | None = None


class DropletPatch(ResourcePatch):
    """As for every resource; the name is changed by the action `rename`, or here alone."""

    name: Name | None = None


class Deletion(Body):
    """The name again, so that nothing is deleted by a slip."""

    confirm_name: Name | None = None


def resource_fields(row: Resource) -> dict[str, object]:
    """Return the fields of ResourceShape; owner and zone should have been joined."""
    return {
        "id": row.pk,
        "public_id": row.public_id,
        "kind": row.kind,
        "name": row.name,
        "owner": ref(row.owner),
        "zone": zone_ref(row.zone),
        "labels": row.labels,
        "protected": row.protected,
        "generation": f"{row.epoch}.{row.generation}",
        "revision": row.revision,
        "absent": row.absent,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "deleted_at": row.deleted_at,
        "spec": row.spec,
    }


def show_resource(row: Resource) -> ResourceShape:
    """Return a resource as any kind shows it."""
    return ResourceShape.model_validate(resource_fields(row))


def show_image(row: Resource) -> ImageShape:
    """Return an image as a document."""
    return ImageShape.model_validate(resource_fields(row))


def show_ssh_key(row: Resource) -> SshKeyShape:
    """Return a key; its typed row should have been joined."""
    return SshKeyShape.model_validate(
        {**resource_fields(row), "fingerprint": row.sshkey.fingerprint}
    )
