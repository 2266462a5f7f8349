"""Lists: page size, cursor, order, opt-in count, and the filters that several lists share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest

from infra.api.requests import is_true
from infra.api.shapes.base import Listing
from inventory.access import Actor, access_owner, access_zone
from inventory.errors import invalid
from inventory.reads.keyset import Order, is_cursor, take_page
from inventory.reads.zones import list_zone_choices, within

DEFAULT_LIMIT, MOST_LIMIT = 50, 200
MAX_LABELS = 8
COMMON = frozenset({"limit", "cursor", "count", "order", "dry_run"})

Row = TypeVar("Row", bound=Model)
Item = TypeVar("Item")

BY_NAME: Mapping[str, Order] = {
    "name": Order("name"),
    "-name": Order("name", descending=True),
    "created": Order("pk"),
    "-created": Order("pk", descending=True),
}
BY_AGE: Mapping[str, Order] = {"-created": Order("pk", descending=True), "created": Order("pk")}


@dataclass(frozen=True)
class Wanted:
    """Which part of a list: so many rows, after a cursor, in an order, counted or not."""

    limit: int
    cursor: str
    order: Order
    count: bool


def read_wanted(
    request: HttpRequest, orders: Mapping[str, Order], *, filters: Sequence[str] = ()
) -> Wanted:
    """Return what the query asks for. Raises Invalid for what is unknown or out of range."""
    unknown = sorted(set(request.GET) - COMMON - set(filters))
    if unknown:
        known = ", ".join(sorted({*filters, "limit", "cursor", "count", "order"}))
        shown = unknown[0][:50]
        raise invalid(
            f"/{shown}", "unknown", f"There is no parameter {shown!r}; known are {known}."
        )
    limit = request.GET.get("limit", str(DEFAULT_LIMIT))
    if not limit.isascii() or not limit.isdecimal() or not 1 <= int(limit[:9]) <= MOST_LIMIT:
        raise invalid("/limit", "range", f"A page has 1 to {MOST_LIMIT} rows.")
    order = request.GET.get("order", next(iter(orders)))
    if order not in orders:
        raise invalid("/order", "order", f"Known orders are {', '.join(orders)}.")
    cursor = request.GET.get("cursor", "")
    if cursor and not is_cursor(cursor, orders[order]):
        raise invalid("/cursor", "cursor", "This is no cursor of this list; leave it out to begin.")
    return Wanted(int(limit), cursor, orders[order], is_true(request, "count"))


def list_page(
    rows: QuerySet[Row],
    wanted: Wanted,
    listing: type[Listing[Item]],
    show: Callable[[Sequence[Row]], list[Item]],
) -> Listing[Item]:
    """Return one page as a document; the count costs a query more and is made when asked for."""
    page = take_page(rows, order=wanted.order, after=wanted.cursor, size=wanted.limit)
    count = rows.order_by().count() if wanted.count else None
    return listing(items=show(page.rows), next_cursor=page.next_cursor, count=count)


def owner_filter(request: HttpRequest, actor: Actor) -> UUID | None:
    """Return the id of the owner asked for; None without one. Raises NotFound."""
    named = request.GET.get("owner", "")
    return access_owner(actor, named).pk if named else None


def zone_filter(request: HttpRequest, actor: Actor) -> frozenset[UUID] | None:
    """Return the ids of the zone asked for and all in it; None without one. Raises NotFound."""
    named = request.GET.get("zone", "")
    return within(access_zone(actor, named).pk, list_zone_choices()) if named else None


def label_filter(request: HttpRequest) -> Q:
    """Return the condition of `label=key=value,key`, all of which must hold. Raises Invalid."""
    parts = [part for part in ",".join(request.GET.getlist("label")).split(",") if part]
    if len(parts) > MAX_LABELS:
        raise invalid("/label", "too_many", f"At most {MAX_LABELS} labels.")
    found = Q()
    for part in parts:
        key, equals, value = part.partition("=")
        found &= Q(labels__contains={key: value}) if equals else Q(labels__has_key=key)
    return found


def text_filter(request: HttpRequest, column: str = "name") -> Q:
    """Return the condition of `q`: part of a name, whatever the case."""
    wanted = request.GET.get("q", "")
    return Q(**{f"{column}__icontains": wanted}) if wanted else Q()
