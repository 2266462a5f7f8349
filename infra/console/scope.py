"""The scope: one zone (with all inside it), one owner, or everything. Kept in the session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from inventory.access import as_uuid

SESSION_KEY = "scope"


@dataclass(frozen=True, slots=True)
class Scope:
    """What lists, counts and exports are narrowed to. None means everything."""

    zone_id: UUID | None = None
    owner_id: UUID | None = None
    zone_name: str = ""
    owner_name: str = ""

    @property
    def is_set(self) -> bool:
        return self.zone_id is not None or self.owner_id is not None

    @property
    def words(self) -> str:
        parts = []
        if self.zone_id:
            parts.append(f"zone {self.zone_name}")
        if self.owner_id:
            parts.append(f"owner {self.owner_name}")
        return ", ".join(parts) or "Everything"


def read_scope(kept: object, *, zones: Mapping[UUID, str], owners: Mapping[UUID, str]) -> Scope:
    """Return the scope kept in a session; a zone or owner that has gone is no longer a limit."""
    if not isinstance(kept, dict):
        return Scope()
    zone_id = as_uuid(str(kept.get("zone", "")))
    owner_id = as_uuid(str(kept.get("owner", "")))
    zone_id = zone_id if zone_id in zones else None
    owner_id = owner_id if owner_id in owners else None
    return Scope(
        zone_id=zone_id,
        owner_id=owner_id,
        zone_name=zones.get(zone_id, "") if zone_id else "",
        owner_name=owners.get(owner_id, "") if owner_id else "",
    )
