"""Locking reads, all in one place.

One order, everywhere: node link, resource, node. The row of a resource guards all its operations,
steps, placements and typed rows; an operation without a resource guards itself. No network call
is made while one is held.
"""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from django.db import connection

from inventory.models import NodeLink, Resource
from operations.models import Operation


def lock_resource(
    resource_id: UUID, *, skip_locked: bool = False, against_references: bool = False
) -> Resource | None:
    """Return the locked resource; None when it is gone or, with `skip_locked`, busy.

    With `against_references` it also waits for, and keeps off, new rows that refer to it.
    """
    return (
        Resource.objects.select_for_update(
            no_key=not against_references, of=("self",), skip_locked=skip_locked
        )
        .select_related("owner", "zone")
        .filter(pk=resource_id)
        .first()
    )


def hold_references(resource_ids: Collection[UUID]) -> list[UUID]:
    """Keep the resources from being deleted until commit; return those that are declared absent.

    A foreign key alone does not: its check is deferred to the commit, after the look at `absent`.
    Any number may hold the same resource at once.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, absent FROM inventory_resource WHERE id = ANY(%s) ORDER BY id"
            " FOR KEY SHARE",
            [list(resource_ids)],
        )
        return [identifier for identifier, absent in cursor.fetchall() if absent]


def lock_operation(operation_id: UUID, *, skip_locked: bool = False) -> Operation | None:
    """Return the operation with its subject locked; None when unknown or busy."""
    resource_id = (
        Operation.objects.filter(pk=operation_id).values_list("resource_id", flat=True).first()
    )
    if resource_id is not None and lock_resource(resource_id, skip_locked=skip_locked) is None:
        return None
    return (
        Operation.objects.select_for_update(no_key=True, of=("self",), skip_locked=skip_locked)
        .select_related("resource", "owner")
        .filter(pk=operation_id)
        .first()
    )


def lock_link(node_id: UUID) -> NodeLink:
    """Return the locked link of a node; made when the node has none yet."""
    NodeLink.objects.bulk_create([NodeLink(node_id=node_id)], ignore_conflicts=True)
    return NodeLink.objects.select_for_update(no_key=True).get(node_id=node_id)
