"""Droplets for pages and exports: rows with what is wanted, where, and what was seen."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from django.db.models import Exists, F, OuterRef, Prefetch, Q, QuerySet

from inventory.access import Actor, visible_resources
from inventory.models import Kind, Node, NodeCondition, Placement, Resource, ResourceObservation
from inventory.reads.keyset import Order, Page, take_page
from inventory.reads.nodes import UNREACHABLE
from inventory.standing import Facts, OpenChange, Sight, Standing, standing


@dataclass(frozen=True, slots=True)
class DropletFilter:
    """What the list is narrowed to; None and "" mean no limit."""

    text: str = ""
    zone_ids: Collection[UUID] | None = None
    owner_id: UUID | None = None
    node: str = ""
    image: str = ""
    seen: str = ""
    label: str = ""


_PLACED = Placement.objects.filter(resource=OuterRef("pk"), released_at__isnull=True)
_PLACED_THERE = Placement.objects.filter(
    resource=OuterRef("resource"), node=OuterRef("node"), released_at__isnull=True
)
_SEEN_HERE = ResourceObservation.objects.filter(Exists(_PLACED_THERE), resource=OuterRef("pk"))

SEEN: Mapping[str, Q] = MappingProxyType(
    {
        "running": Q(Exists(_SEEN_HERE.filter(power="running")), absent=False),
        "stopped": Q(Exists(_SEEN_HERE.filter(power="stopped")), absent=False),
        "waiting": Q(~Exists(_PLACED), absent=False),
        "differs": Q(Exists(_SEEN_HERE.exclude(power=F("resource__droplet__power"))), absent=False),
        "unseen": Q(
            Exists(
                _PLACED.filter(
                    Exists(NodeCondition.objects.filter(node=OuterRef("node"), kind=UNREACHABLE))
                )
            )
        ),
        "deleting": Q(absent=True),
    }
)
"""What a person may ask of how droplets stand, as the database answers it."""


@dataclass(frozen=True, slots=True)
class DropletRow:
    """One droplet with its place and what its node last showed."""

    resource: Resource
    node: Node | None
    unreachable: bool
    observation: ResourceObservation | None

    def standing(self, change: OpenChange | None) -> Standing:
        """Return the one word and why, given the newest open operation."""
        return standing(
            Facts(
                declared_power=self.resource.droplet.power,
                declared_absent=self.resource.absent,
                gone=self.resource.deleted_at is not None,
                node=self.node.name if self.node else "",
                node_unreachable=self.unreachable,
                sight=_sight(self.observation),
                change=change,
            )
        )

    @property
    def addresses(self) -> Sequence[str]:
        found = self.observation.data.get("addresses", []) if self.observation else []
        return [str(address) for address in found] if isinstance(found, list) else []


def _sight(observation: ResourceObservation | None) -> Sight | None:
    if observation is None or not observation.presence:
        return None
    return Sight(
        power=observation.power,
        absent=observation.presence == ResourceObservation.Presence.ABSENT,
        seen_at=observation.seen_at,
    )


def filter_droplets(actor: Actor, wanted: DropletFilter) -> QuerySet[Resource]:
    """Return the droplets the actor may see that fit."""
    droplets = visible_resources(actor, Kind.DROPLET)
    if wanted.text:
        droplets = droplets.filter(name__icontains=wanted.text)
    if wanted.zone_ids is not None:
        droplets = droplets.filter(zone_id__in=list(wanted.zone_ids))
    if wanted.owner_id is not None:
        droplets = droplets.filter(owner_id=wanted.owner_id)
    if wanted.node:
        droplets = droplets.filter(
            Exists(_PLACED.filter(node__name=wanted.node)),
        )
    if wanted.image:
        droplets = droplets.filter(droplet__image__resource__name=wanted.image)
    if wanted.seen in SEEN:
        droplets = droplets.filter(SEEN[wanted.seen])
    if wanted.label:
        key, equals, value = wanted.label.partition("=")
        fits = Q(labels__contains={key: value}) if equals else Q(labels__has_key=key)
        droplets = droplets.filter(fits)
    return droplets


def list_droplets(
    actor: Actor, wanted: DropletFilter, *, order: Order, after: str, size: int
) -> Page[Resource]:
    """Return a page of droplets ready for `droplet_rows`. Five queries."""
    droplets = with_place(filter_droplets(actor, wanted))
    return take_page(droplets, order=order, after=after, size=size)


def with_place(droplets: QuerySet[Resource]) -> QuerySet[Resource]:
    """Return the droplets with everything that `droplet_row` looks at."""
    active = Placement.objects.filter(released_at__isnull=True).select_related("node")
    silent = NodeCondition.objects.filter(kind=UNREACHABLE)
    return droplets.select_related("owner", "zone", "droplet__image__resource").prefetch_related(
        Prefetch("placements", queryset=active, to_attr="active_placements"),
        Prefetch("active_placements__node__conditions", queryset=silent, to_attr="silences"),
        Prefetch("observations", to_attr="all_observations"),
    )


def droplet_row(resource: Resource) -> DropletRow:
    """Return the row of a resource that came through `with_place`. No query."""
    placements: list[Placement] = getattr(resource, "active_placements", [])
    observations: list[ResourceObservation] = getattr(resource, "all_observations", [])
    if not placements:
        return DropletRow(resource, None, unreachable=False, observation=None)
    node = placements[0].node
    seen = next((o for o in observations if o.node_id == node.pk), None)
    silences: list[NodeCondition] = getattr(node, "silences", [])
    return DropletRow(resource, node, unreachable=bool(silences), observation=seen)


def droplets_on(actor: Actor, node: Node, *, limit: int) -> Sequence[DropletRow]:
    """Return droplets placed on a node that the actor may see. Four queries."""
    droplets = visible_resources(actor, Kind.DROPLET).filter(Exists(_PLACED.filter(node=node)))
    return [droplet_row(found) for found in with_place(droplets).order_by("name", "pk")[:limit]]


def read_droplet(key: UUID) -> DropletRow:
    """Return one droplet that the actor was allowed to see, gone or not. Four queries."""
    return droplet_row(with_place(Resource.objects.filter(pk=key)).get())
