"""Intents of SSH keys. Nothing of them stands on a node until a droplet takes one."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from inventory.access import access_resource
from inventory.errors import invalid
from inventory.models import Kind, SshKey
from inventory.specs import SshKeySpec
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
from operations.planning.sshkeys import STEPS, SshKeyOperation


def create_ssh_key(
    call: Call, metadata: Metadata, spec: SshKeySpec, *, parent_id: UUID | None = None
) -> Operation:
    """Declare a new public key. Its operation has no steps, so it has succeeded at once."""
    with door(call):
        resource = insert_resource(call, Kind.SSH_KEY, metadata, spec)
        SshKey.objects.create(
            resource=resource, public_key=spec.public_key, fingerprint=spec.fingerprint
        )
        return open_recorded(
            call,
            resource,
            SshKeyOperation.CREATE,
            STEPS[SshKeyOperation.CREATE],
            parent_id=parent_id,
        )


def change_ssh_key(
    call: Call,
    key: Key,
    *,
    spec: SshKeySpec,
    labels: Mapping[str, str] | None = None,
    protected: bool | None = None,
    parent_id: UUID | None = None,
) -> Operation:
    """Change the labels or the protection of a key."""
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.SSH_KEY)
        resource = lock_for_change(call, found, "change")
        if resource.spec != spec.model_dump(mode="json"):
            raise invalid(
                "/spec/public_key",
                "immutable",
                "A key cannot become another key; declare a new one and delete this.",
            )
        before = document_of(resource)
        resource.labels = check_labels(labels) if labels is not None else resource.labels
        resource.protected = resource.protected if protected is None else protected
        bump(resource, call)
        return open_recorded(
            call,
            resource,
            SshKeyOperation.CHANGE,
            STEPS[SshKeyOperation.CHANGE],
            before=before,
            parent_id=parent_id,
        )


def delete_ssh_key(
    call: Call, key: Key, *, confirm_name: str, parent_id: UUID | None = None
) -> Operation:
    """Declare the key absent. Raises Conflict while a droplet takes it."""
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.SSH_KEY)
        resource = lock_for_change(call, found, "delete", against_references=True)
        check_may_be_deleted(resource, confirm_name)
        before = document_of(resource)
        resource.absent = True
        bump(resource, call)
        return open_recorded(
            call,
            resource,
            SshKeyOperation.DELETE,
            STEPS[SshKeyOperation.DELETE],
            before=before,
            parent_id=parent_id,
        )
