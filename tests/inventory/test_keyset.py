"""Pages by key: every row once, in order, whatever the column and however many ties."""

from __future__ import annotations

import base64
import json

import pytest

from inventory.models import Zone
from inventory.reads.keyset import Order, take_page
from inventory.reads.zones import walk

pytestmark = pytest.mark.django_db


@pytest.fixture
def zones() -> list[Zone]:
    return [
        Zone.objects.create(name=f"zone {number}", kind_label=f"kind {number % 3}")
        for number in range(10)
    ]


@pytest.mark.parametrize("column", ["name", "kind_label", "created_at", "pk", "revision"])
@pytest.mark.parametrize("direction", ["up", "down"])
@pytest.mark.parametrize("size", [1, 3, 10, 50])
def test_pages_hold_every_row_once_in_order(
    zones: list[Zone], column: str, direction: str, size: int
) -> None:
    order = Order(column, descending=direction == "down")
    wanted = list(Zone.objects.order_by(*order.by).values_list("name", flat=True))

    seen, after, pages = [], "", 0
    while True:
        page = take_page(Zone.objects.all(), order=order, after=after, size=size)
        assert page.is_first == (pages == 0)
        seen += [zone.name for zone in page.rows]
        pages += 1
        after = page.next_cursor
        if not after:
            break

    assert seen == wanted
    assert pages == -(-len(zones) // size)


def test_a_row_that_comes_or_goes_moves_no_other(zones: list[Zone]) -> None:
    order = Order("name")
    first = take_page(Zone.objects.all(), order=order, after="", size=3)
    Zone.objects.create(name="zone 00")
    zones[1].delete()

    second = take_page(Zone.objects.all(), order=order, after=first.next_cursor, size=3)

    assert [zone.name for zone in second.rows] == ["zone 3", "zone 4", "zone 5"]


@pytest.mark.parametrize("cursor", ["x", "%%%", "e30", "WyJhIl0", "W251bGwsICJ4Il0", "A" * 2000])
def test_a_cursor_that_makes_no_sense_starts_at_the_beginning(
    zones: list[Zone], cursor: str
) -> None:
    assert take_page(Zone.objects.all(), order=Order("name"), after=cursor, size=3).is_first


def test_a_cursor_of_another_order_starts_at_the_beginning(zones: list[Zone]) -> None:
    by_name = take_page(Zone.objects.all(), order=Order("name"), after="", size=3).next_cursor

    for column in ("created_at", "revision", "pk"):
        assert take_page(Zone.objects.all(), order=Order(column), after=by_name, size=3).is_first


@pytest.mark.parametrize("value", ["x", 10**30, -(10**30), 1.5, True, "2026-13-45", "\ud800"])
@pytest.mark.parametrize("column", ["name", "created_at", "revision", "pk"])
def test_an_edited_cursor_never_breaks_the_list(
    zones: list[Zone], column: str, value: object
) -> None:
    kept = json.dumps([column, value, str(zones[0].pk)]).encode()
    cursor = base64.urlsafe_b64encode(kept).decode().rstrip("=")

    take_page(Zone.objects.all(), order=Order(column), after=cursor, size=3)


def test_the_tree_is_walked_parents_first(zones: list[Zone]) -> None:
    root, left, right, leaf = zones[:4]
    rows = [
        (leaf.pk, "leaf", left.pk),
        (left.pk, "left", root.pk),
        (right.pk, "right", root.pk),
        (root.pk, "root", None),
    ]

    assert [(row[1], depth) for row, depth in walk(rows)] == [
        ("root", 0),
        ("left", 1),
        ("leaf", 2),
        ("right", 1),
    ]
