"""Pages of long lists by key, not by number: no COUNT, no OFFSET, nothing shown twice or missed.

A cursor names the last row of a page by the value it is sorted by and its id.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from django.db.models import Model, Q, QuerySet

from inventory.access import as_uuid

Row = TypeVar("Row", bound=Model)
MAX_CURSOR = 1024


@dataclass(frozen=True, slots=True)
class Order:
    """One column to sort by; the id breaks ties. `column` is never NULL."""

    column: str
    descending: bool = False

    @property
    def by(self) -> tuple[str, ...]:
        sign = "-" if self.descending else ""
        return (f"{sign}pk",) if self.column == "pk" else (f"{sign}{self.column}", f"{sign}pk")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """Some rows, and the cursor of the page after them (empty at the end)."""

    rows: Sequence[Row]
    next_cursor: str
    is_first: bool


def take_page(rows: QuerySet[Row], *, order: Order, after: str, size: int) -> Page[Row]:
    """Return one page in one query; a cursor that makes no sense starts from the beginning."""
    position = _read(after)
    if position is not None:
        rows = rows.filter(_beyond(order, *position))
    found = list(rows.order_by(*order.by)[: size + 1])
    shown = found[:size]
    more = len(found) > size
    return Page(shown, _write(shown[-1], order) if more else "", is_first=position is None)


def is_cursor(text: str) -> bool:
    """Return whether the text reads as a cursor. Pure."""
    return _read(text) is not None


def _beyond(order: Order, value: str | float, pk: str) -> Q:
    side = "lt" if order.descending else "gt"
    if order.column == "pk":
        return Q(**{f"pk__{side}": pk})
    return Q(**{f"{order.column}__{side}": value}) | Q(**{order.column: value, f"pk__{side}": pk})


def _write(row: Model, order: Order) -> str:
    value: object = row
    for part in order.column.split("__"):
        value = getattr(value, part)
    if isinstance(value, datetime):
        value = value.isoformat()
    kept = json.dumps([value if order.column != "pk" else "", str(row.pk)], default=str)
    return base64.urlsafe_b64encode(kept.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[str | float, str] | None:
    if not cursor or len(cursor) > MAX_CURSOR:
        return None
    try:
        kept = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        return None
    match kept:
        case [(str() | int() | float()) as value, str() as pk] if as_uuid(pk) and "\x00" not in str(
            value
        ):
            return value, pk
        case _:
            return None
