"""Zones for pages: the tree, what stands in each, and what an operator may choose from."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from inventory.access import Actor, visible_resources
from inventory.capacity import Amount, allocatable
from inventory.models import Kind, Node, NodeCondition, Placement, Zone

INDENT = "\u2003"


@dataclass(frozen=True, slots=True)
class ZoneChoice:
    """A zone as an entry of a menu, in the order of the tree."""

    id: UUID
    name: str
    parent_id: UUID | None
    depth: int

    @property
    def indented(self) -> str:
        return INDENT * self.depth + self.name


@dataclass(frozen=True, slots=True)
class ZoneRow:
    """A zone of the tree with all that lies inside it, zones within it included."""

    zone: Zone
    depth: int
    jurisdiction: str
    nodes: int
    unreachable: int
    droplets: int
    capacity: Amount
    used: Amount


@dataclass(slots=True)
class _Sum:
    nodes: int = 0
    unreachable: int = 0
    droplets: int = 0
    capacity: Amount = field(default_factory=lambda: Amount(0, 0, 0))
    used: Amount = field(default_factory=lambda: Amount(0, 0, 0))


def list_zone_choices() -> Sequence[ZoneChoice]:
    """Return all zones in tree order. One query."""
    rows = Zone.objects.order_by("name").values_list("id", "name", "parent_id")
    choices: list[ZoneChoice] = []
    for (pk, name, parent_id), depth in walk(list(rows)):
        choices.append(ZoneChoice(pk, name, parent_id, depth))
    return choices


ZoneTuple = tuple[UUID, str, UUID | None]


def walk(rows: Sequence[ZoneTuple]) -> Iterable[tuple[ZoneTuple, int]]:
    """Yield zones parents first, each with its depth, siblings in the order given. Pure."""
    children: dict[UUID | None, list[ZoneTuple]] = defaultdict(list)
    for row in rows:
        children[row[2]].append(row)
    stack = [(row, 0) for row in reversed(children[None])]
    while stack:
        row, depth = stack.pop()
        yield row, depth
        stack.extend((child, depth + 1) for child in reversed(children[row[0]]))


def within(zone_id: UUID, choices: Sequence[ZoneChoice]) -> frozenset[UUID]:
    """Return the zone and all inside it; `choices` is in tree order. Pure."""
    inside = {zone_id}
    for choice in choices:
        if choice.parent_id in inside:
            inside.add(choice.id)
    return frozenset(inside)


def list_zone_rows(actor: Actor) -> Sequence[ZoneRow]:
    """Return the tree with sums. Four queries."""
    zones = {zone.pk: zone for zone in Zone.objects.order_by("name")}
    order = list(walk([(zone.pk, zone.name, zone.parent_id) for zone in zones.values()]))
    sums = _sums(actor, zones)
    jurisdictions: dict[UUID, str] = {}
    rows = []
    for (pk, _, parent_id), depth in order:
        inherited = jurisdictions.get(parent_id, "") if parent_id else ""
        jurisdictions[pk] = zones[pk].jurisdiction or inherited
        total = sums[pk]
        rows.append(
            ZoneRow(
                zone=zones[pk],
                depth=depth,
                jurisdiction=jurisdictions[pk],
                nodes=total.nodes,
                unreachable=total.unreachable,
                droplets=total.droplets,
                capacity=total.capacity,
                used=total.used,
            )
        )
    return rows


def _sums(actor: Actor, zones: Mapping[UUID, Zone]) -> Mapping[UUID, _Sum]:
    sums: dict[UUID, _Sum] = {pk: _Sum() for pk in zones}
    silent = set(NodeCondition.objects.filter(kind="unreachable").values_list("node_id", flat=True))
    hosted = _droplets_per_node(actor)
    for node in Node.objects.exclude(lifecycle="left"):
        place: UUID | None = node.zone_id
        while place is not None:
            total = sums[place]
            total.nodes += 1
            total.unreachable += node.pk in silent
            total.droplets += hosted[node.pk]
            total.capacity += allocatable(node.capacity, node.over_commit)
            total.used += node.used
            place = zones[place].parent_id
    return sums


def _droplets_per_node(actor: Actor) -> Counter[UUID]:
    placed = Placement.objects.filter(
        released_at__isnull=True, resource__in=visible_resources(actor, Kind.DROPLET)
    )
    return Counter(placed.values_list("node_id", flat=True))
