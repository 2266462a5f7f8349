"""Intents of images."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from inventory.access import access_resource
from inventory.errors import invalid
from inventory.models import Image, Kind
from inventory.specs import ImageSpec
from inventory.specs.base import check_labels
from operations.intents.call import Call, door
from operations.intents.opening import bump, lock_for_change
from operations.intents.resources import (
    Key,
    Metadata,
    check_may_be_deleted,
    document_of,
    insert_resource,
    open_recorded,
)
from operations.models import Operation
from operations.outbox import wake_worker
from operations.planning.images import STEPS, ImageOperation


def create_image(
    call: Call, metadata: Metadata, spec: ImageSpec, *, parent_id: UUID | None = None
) -> Operation:
    """Declare a new image; its operation verifies that the store holds the bytes."""
    with door(call):
        resource = insert_resource(call, Kind.IMAGE, metadata, spec)
        Image.objects.create(resource=resource, **spec.model_dump())
        return open_recorded(
            call, resource, ImageOperation.CREATE, STEPS[ImageOperation.CREATE], parent_id=parent_id
        )


def change_image(
    call: Call,
    key: Key,
    *,
    spec: ImageSpec,
    labels: Mapping[str, str] | None = None,
    protected: bool | None = None,
    parent_id: UUID | None = None,
) -> Operation:
    """Change what may change of an image: labels, protection, its address, the smallest disk."""
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.IMAGE)
        resource = lock_for_change(call, found, "change")
        image = Image.objects.get(resource=resource)
        for name in ("sha256", "format", "size_bytes"):
            if getattr(image, name) != getattr(spec, name):
                raise invalid(
                    f"/spec/{name}",
                    "immutable",
                    "An image is named by its content; declare another image for other bytes.",
                )
        before = document_of(resource)
        image.url, image.min_disk_gib = spec.url, spec.min_disk_gib
        image.save(update_fields=["url", "min_disk_gib"])
        resource.spec = spec.model_dump(mode="json")
        resource.labels = check_labels(labels) if labels is not None else resource.labels
        resource.protected = resource.protected if protected is None else protected
        bump(resource, call)
        return open_recorded(
            call,
            resource,
            ImageOperation.CHANGE,
            STEPS[ImageOperation.CHANGE],
            before=before,
            parent_id=parent_id,
        )


def delete_image(
    call: Call, key: Key, *, confirm_name: str, parent_id: UUID | None = None
) -> Operation:
    """Declare the image absent. Raises Conflict while a droplet starts from it."""
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.IMAGE)
        resource = lock_for_change(call, found, "delete", against_references=True)
        check_may_be_deleted(resource, confirm_name)
        before = document_of(resource)
        resource.absent = True
        bump(resource, call)
        return open_recorded(
            call,
            resource,
            ImageOperation.DELETE,
            STEPS[ImageOperation.DELETE],
            before=before,
            parent_id=parent_id,
        )


def look_at_waiting(sha256: str, *, now: datetime) -> None:
    """Look anew at operations that wait for these bytes, which have just come."""
    waiting = Operation.objects.filter(
        resource__image__sha256=sha256, finished_at__isnull=True, kind=ImageOperation.CREATE
    )
    for operation_id in waiting.values_list("pk", flat=True):
        Operation.objects.filter(pk=operation_id).update(due_at=now)
        wake_worker(operation_id)
