"""What all kinds of resource share: being created, labelled, protected, named and deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.db import IntegrityError, transaction

from inventory.access import access_owner, access_resource, access_zone
from inventory.errors import Conflict, Forbidden, invalid
from inventory.identifiers import uuid7
from inventory.models import Dependency, Kind, Resource
from inventory.specs import Spec
from inventory.specs.base import check_labels, check_resource_name
from operations.audit import record_audit
from operations.intents.call import Call, door
from operations.intents.opening import (
    bump,
    current_epoch,
    lock_for_change,
    open_operation,
    tell_declared,
)
from operations.models import Operation
from operations.planning.steps import StepKind

Key = UUID | str | int
Document = dict[str, object]


@dataclass(frozen=True)
class Metadata:
    """What is said of a resource beside its spec. Owner and zone by name or id."""

    name: str
    owner: UUID | str | None = None
    zone: UUID | str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    protected: bool = False


def insert_resource(call: Call, kind: Kind, metadata: Metadata, spec: Spec) -> Resource:
    """Write the row of a new resource. Raises Invalid, NotFound, Forbidden or Conflict."""
    owner = access_owner(call.actor, metadata.owner)
    if not call.actor.may_change(owner.pk):
        raise Forbidden(f"create a {kind}", f"for {owner.name}", "the role operator of that owner")
    zone = access_zone(call.actor, metadata.zone) if metadata.zone is not None else None
    name = check_resource_name(metadata.name)
    resource = Resource(
        id=uuid7(),
        kind=kind,
        name=name,
        owner=owner,
        zone=zone,
        labels=check_labels(metadata.labels),
        spec=spec.model_dump(mode="json"),
        epoch=current_epoch(),
        protected=metadata.protected,
        created_at=call.now,
        updated_at=call.now,
        created_by_id=call.actor.user_id,
    )
    save_unless_named(resource)
    tell_declared(resource, call)
    return resource


def save_unless_named(resource: Resource) -> None:
    """Save, letting the database decide whether the name is free. Raises Conflict."""
    try:
        with transaction.atomic():
            resource.save(force_insert=resource._state.adding)  # noqa: SLF001  Django's own word
    except IntegrityError as error:
        if "inventory_resource_unique_name" not in str(error):
            raise
        raise Conflict(
            "resource.name_taken",
            f"{resource.owner.name} already has a {resource.kind} named {resource.name}. "
            "Nothing changed; choose another name, or change the one there is.",
            {"kind": resource.kind, "name": resource.name},
        ) from None


def document_of(resource: Resource) -> Document:
    """Return the declaration as one document, for audit and for a way back."""
    return {
        "name": resource.name,
        "labels": resource.labels,
        "protected": resource.protected,
        "spec": resource.spec,
        "generation": resource.generation,
    }


def open_recorded(
    call: Call,
    resource: Resource,
    action: str,
    steps: Sequence[StepKind],
    *,
    before: Document | None = None,
    parent_id: UUID | None = None,
) -> Operation:
    """Open the operation of a declaration just made, and append both to the audit journal."""
    operation = open_operation(call, resource, action, steps, previous=before, parent_id=parent_id)
    record_audit(
        call,
        action,
        kind=resource.kind,
        object_id=resource.pk,
        name=resource.name,
        before=before,
        after=document_of(resource),
        operation_id=operation.pk,
    )
    return operation


def check_may_be_deleted(resource: Resource, confirm_name: str) -> None:
    """Raise Invalid when the name does not match, Conflict when protected or in use."""
    if confirm_name != resource.name:
        raise invalid(
            "/confirm_name",
            "confirm_name",
            f"Repeat the name exactly to delete {resource.kind} {resource.name}. Nothing changed.",
        )
    if resource.protected:
        raise Conflict(
            "resource.protected",
            f"{resource.kind} {resource.name} is protected against deletion. Nothing changed; "
            "lift the protection first if you mean it.",
        )
    check_not_in_use(resource)


def check_not_in_use(resource: Resource) -> None:
    """Raise Conflict that names who depends on the resource."""
    users = list(
        Dependency.objects.filter(resource=resource, dependent__deleted_at__isnull=True)
        .select_related("dependent")
        .order_by("dependent__name")[:11]
    )
    if users:
        names = ", ".join(user.dependent.name for user in users[:10])
        more = " and more" if len(users) > 10 else ""  # noqa: PLR2004  ten are named
        raise Conflict(
            "resource.in_use",
            f"{resource.kind} {resource.name} is in use by {names}{more}. Nothing changed; "
            "delete or rebuild those first.",
            {"users": names},
        )


def set_labels(
    call: Call, key: Key, labels: Mapping[str, str], *, kind: str | None = None
) -> Resource:
    """Replace the labels of a resource. Labels move nothing on a node."""
    checked = check_labels(labels)
    with door(call):
        resource = lock_for_change(call, access_resource(call.actor, key, kind=kind), "label")
        before: Document = {"labels": resource.labels}
        resource.labels = checked
        bump(resource, call, generation=False)
        _audit(call, "resource.label", resource, before, {"labels": checked})
    return resource


def set_protection(call: Call, key: Key, *, protected: bool, kind: str | None = None) -> Resource:
    """Protect a resource against deletion, or lift that."""
    with door(call):
        resource = lock_for_change(call, access_resource(call.actor, key, kind=kind), "protect")
        before: Document = {"protected": resource.protected}
        resource.protected = protected
        bump(resource, call, generation=False)
        _audit(call, "resource.protect", resource, before, {"protected": protected})
    return resource


def _audit(call: Call, action: str, resource: Resource, before: Document, after: Document) -> None:
    record_audit(
        call,
        action,
        kind=resource.kind,
        object_id=resource.pk,
        name=resource.name,
        before=before,
        after=after,
    )
