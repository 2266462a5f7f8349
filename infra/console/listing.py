"""Lists as pages: order, filter and place in the list all stand in the address."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from django.http import HttpRequest

from inventory.reads.keyset import Order, Page

PAGE_SIZE = 50
"""What fits on two screens, and keeps a refresh of living rows cheap."""

MAX_TEXT = 200


@dataclass(frozen=True, slots=True)
class Column:
    """One column head; `sort` is its word in the address, empty when it cannot be sorted by."""

    title: str
    sort: str = ""
    classes: str = ""
    state: str = ""
    address: str = ""

    @property
    def aria_sort(self) -> str:
        return {"asc": "ascending", "desc": "descending"}.get(self.state, "")


@dataclass(frozen=True, slots=True)
class Option:
    """One choice of a filter."""

    value: str
    label: str


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter as a menu above the list."""

    name: str
    label: str
    value: str
    options: Sequence[Option]


def text_of(request: HttpRequest, name: str) -> str:
    """Return one parameter of the address, without what no database could hold."""
    return request.GET.get(name, "").replace("\x00", "").strip()[:MAX_TEXT]


def order_of(request: HttpRequest, columns: Mapping[str, str], default: str) -> Order:
    """Return the order the address asks for; `-name` is name, from the end."""
    wanted = request.GET.get("sort", default)
    descending = wanted.startswith("-")
    column = columns.get(wanted.removeprefix("-"))
    if column is None:
        return Order(columns[default.removeprefix("-")], descending=default.startswith("-"))
    return Order(column, descending=descending)


def heads(request: HttpRequest, titles: Sequence[Column], sorted_by: str) -> Iterator[Column]:
    """Yield the column heads, each with the address that sorts by it (or turns the order)."""
    wanted = request.GET.get("sort", sorted_by)
    for column in titles:
        if not column.sort:
            yield column
            continue
        state = {column.sort: "asc", f"-{column.sort}": "desc"}.get(wanted, "")
        turned = f"-{column.sort}" if state == "asc" else column.sort
        address = with_parameters(request, sort=turned, after="")
        yield Column(column.title, column.sort, column.classes, state, address)


def with_parameters(request: HttpRequest, **changes: str) -> str:
    """Return the present address with some parameters changed; an empty one is left out."""
    query = request.GET.copy()
    for name, value in changes.items():
        if value:
            query[name] = value
        else:
            query.pop(name, None)
    return f"{request.path}?{query.urlencode()}" if query else request.path


@dataclass(frozen=True, slots=True)
class Paging:
    """Where the reader can go from here."""

    first_address: str
    next_address: str
    shown: int


def paging_of(request: HttpRequest, page: Page) -> Paging:  # type: ignore[type-arg]
    """Return the addresses of the first and the next page; empty where there is none."""
    following = with_parameters(request, after=page.next_cursor) if page.next_cursor else ""
    first = "" if page.is_first else with_parameters(request, after="")
    return Paging(first, following, len(page.rows))
