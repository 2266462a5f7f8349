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

from django.core.exceptions import ValidationError
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
    following = _following(rows, order, after)
    source = rows if following is None else following
    found = list(source.order_by(*order.by)[: size + 1])
    shown = found[:size]
    more = len(found) > size
    return Page(shown, _write(shown[-1], order) if more else "", is_first=following is None)


def _following(rows: QuerySet[Row], order: Order, after: str) -> QuerySet[Row] | None:
    """Return the rows after the cursor; None when it names no place in this order."""
    place = _read(after)
    if place is None or place.column != order.column:
        return None
    try:
        return rows.filter(_beyond(order, place.value, place.pk))
    except (ValidationError, ValueError, TypeError):
        return None  # a cursor that somebody has edited: its value is none of the column's


def is_cursor(text: str, order: Order) -> bool:
    """Return whether the text reads as a cursor of a list in this order. Pure."""
    place = _read(text)
    return place is not None and place.column == order.column


def _beyond(order: Order, value: str | float, pk: str) -> Q:
    side = "lt" if order.descending else "gt"
    if order.column == "pk":
        return Q(**{f"pk__{side}": pk})
    beyond = Q(**{f"{order.column}__{side}": value}) | Q(**{order.column: value, f"pk__{side}": pk})
    # Said twice on purpose: from this part alone PostgreSQL sees where in the index to begin.
    return Q(**{f"{order.column}__{side}e": value}) & beyond


def _write(row: Model, order: Order) -> str:
    value: object = row
    for part in order.column.split("__"):
        value = getattr(value, part)
    if isinstance(value, datetime):
        value = value.isoformat()
    kept = json.dumps(
        [order.column, "" if order.column == "pk" else value, str(row.pk)], default=str
    )
    return base64.urlsafe_b64encode(kept.encode()).decode().rstrip("=")


@dataclass(frozen=True, slots=True)
class _Place:
    """What a cursor says: the column, and the value and id of the last row shown."""

    column: str
    value: str | float
    pk: str


def _read(cursor: str) -> _Place | None:
    if not cursor or len(cursor) > MAX_CURSOR:
        return None
    try:
        kept = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        return None
    match kept:
        case [str() as column, (str() | int() | float()) as value, str() as pk]:
            return _Place(column, value, pk) if as_uuid(pk) and _is_text(str(value)) else None
        case _:
            return None


def _is_text(value: str) -> bool:
    """Return whether PostgreSQL can be asked about the value: no NUL, no lone surrogate."""
    return not any(character == "\x00" or "\ud800" <= character <= "\udfff" for character in value)
