"""Writing inventories: one bulk statement per report, guarded row by row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q

from agent.protocol.messages import LedgerEntry
from agent.protocol.observations import DropletObservation, FoundGuest, Inventory
from inventory.identifiers import uuid7
from inventory.models import FoundObject, Placement, Resource, ResourceObservation
from operations.outbox import publish

_UPSERT = """
INSERT INTO inventory_resourceobservation AS row
       (id, resource_id, node_id, ordinal, sequence, presence, power, epoch, generation, data,
        ledger_epoch, ledger_generation, ledger_absent, ledger_converged, seen_at, changed_at)
SELECT item.id, item.resource_id, %(node)s, %(ordinal)s, %(sequence)s, item.presence, item.power,
       item.epoch, item.generation, item.data, item.ledger_epoch, item.ledger_generation,
       item.ledger_absent, item.ledger_converged, %(now)s, %(now)s
  FROM jsonb_to_recordset(%(items)s::jsonb) AS item(
       id uuid, resource_id uuid, presence text, power text, epoch int, generation bigint,
       data jsonb, ledger_epoch int, ledger_generation bigint, ledger_absent boolean,
       ledger_converged boolean)
 ORDER BY item.resource_id
ON CONFLICT (resource_id, node_id) DO UPDATE
   SET ordinal = excluded.ordinal, sequence = excluded.sequence,
       presence = CASE WHEN excluded.presence = '' THEN row.presence ELSE excluded.presence END,
       power = CASE WHEN excluded.presence = '' THEN row.power ELSE excluded.power END,
       epoch = CASE WHEN excluded.presence = '' THEN row.epoch ELSE excluded.epoch END,
       generation = CASE WHEN excluded.presence = '' THEN row.generation
                         ELSE excluded.generation END,
       data = CASE WHEN excluded.presence = '' THEN row.data ELSE excluded.data END,
       ledger_epoch = CASE WHEN %(ledger)s THEN excluded.ledger_epoch ELSE row.ledger_epoch END,
       ledger_generation = CASE WHEN %(ledger)s THEN excluded.ledger_generation
                                ELSE row.ledger_generation END,
       ledger_absent = CASE WHEN %(ledger)s THEN excluded.ledger_absent
                            ELSE row.ledger_absent END,
       ledger_converged = CASE WHEN %(ledger)s THEN excluded.ledger_converged
                               ELSE row.ledger_converged END,
       seen_at = excluded.seen_at,
       changed_at = CASE WHEN excluded.presence <> ''
                          AND (row.data IS DISTINCT FROM excluded.data
                               OR row.presence IS DISTINCT FROM excluded.presence)
                         THEN excluded.changed_at ELSE row.changed_at END
 WHERE (row.ordinal, row.sequence) < (excluded.ordinal, excluded.sequence)
RETURNING row.resource_id, (row.changed_at = %(now)s)
"""


def take_inventory(
    node_id: UUID,
    inventory: Inventory | None,
    ledger: Sequence[LedgerEntry] | None,
    *,
    order: tuple[int, int],
    now: datetime,
) -> None:
    """Write what was seen and what the agent holds; tell the watchers what changed.

    Only a complete inventory says that something is absent.
    """
    with transaction.atomic():
        items = _items(node_id, inventory, ledger)
        known = dict(Resource.objects.filter(pk__in=list(items)).values_list("pk", "owner_id"))
        rows = [item for key, item in items.items() if key in known]
        for resource_id in _upsert(node_id, rows, order, has_ledger=ledger is not None, now=now):
            publish("resource", "observed", resource_id, now=now, owner_id=known[resource_id])
        if inventory is not None:
            _take_found(node_id, inventory, now=now)


Item = dict[str, object]


def _items(
    node_id: UUID, inventory: Inventory | None, ledger: Sequence[LedgerEntry] | None
) -> dict[UUID, Item]:
    entries = {entry.resource_id: entry for entry in ledger or ()}
    seen = {droplet.resource_id: droplet for droplet in (inventory.droplets if inventory else ())}
    keys = set(entries) | set(seen)
    complete = inventory is not None and inventory.complete
    if complete:
        keys |= set(
            Placement.objects.filter(node_id=node_id, released_at__isnull=True).values_list(
                "resource_id", flat=True
            )
        )
        keys |= set(
            ResourceObservation.objects.filter(
                node_id=node_id, presence=ResourceObservation.Presence.PRESENT
            ).values_list("resource_id", flat=True)
        )
    return {key: _item(key, seen.get(key), entries.get(key), complete=complete) for key in keys}


def _item(
    key: UUID, droplet: DropletObservation | None, entry: LedgerEntry | None, *, complete: bool
) -> Item:
    presence = "present" if droplet is not None else ("absent" if complete else "")
    return {
        "id": str(uuid7()),
        "resource_id": str(key),
        "presence": presence,
        "power": droplet.power if droplet else "",
        "epoch": droplet.generation.epoch if droplet else 0,
        "generation": droplet.generation.counter if droplet else 0,
        "data": droplet.model_dump(mode="json") if droplet else {},
        "ledger_epoch": entry.generation.epoch if entry else 0,
        "ledger_generation": entry.generation.counter if entry else 0,
        "ledger_absent": entry.absent if entry else False,
        "ledger_converged": entry.converged if entry else False,
    }


def _upsert(
    node_id: UUID, items: list[Item], order: tuple[int, int], *, has_ledger: bool, now: datetime
) -> list[UUID]:
    if not items:
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            _UPSERT,
            {
                "node": node_id,
                "ordinal": order[0],
                "sequence": order[1],
                "items": json.dumps(items),
                "ledger": has_ledger,
                "now": now,
            },
        )
        return [resource_id for resource_id, changed in cursor.fetchall() if changed]


def _take_found(node_id: UUID, inventory: Inventory, *, now: datetime) -> None:
    FoundObject.objects.bulk_create(
        [_found(node_id, guest, now) for guest in inventory.found],
        update_conflicts=True,
        unique_fields=["node", "native_id"],
        update_fields=["name", "power", "vcpus", "memory_mib", "installation_id", "last_seen"],
    )
    if inventory.complete:
        FoundObject.objects.filter(Q(node_id=node_id) & Q(last_seen__lt=now)).delete()


def _found(node_id: UUID, guest: FoundGuest, now: datetime) -> FoundObject:
    return FoundObject(
        node_id=node_id,
        native_id=guest.native_id[:100],
        name=guest.name[:255],
        power=guest.power,
        vcpus=guest.vcpus,
        memory_mib=guest.memory_mib,
        installation_id=guest.installation_id,
        first_seen=now,
        last_seen=now,
    )
