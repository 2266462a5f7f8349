"""Nothing is passed over, in whatever order transactions end."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import psycopg
import pytest
from django.db import connection, transaction
from django.utils import timezone

from infra.event_log import (
    BEGINNING,
    Place,
    horizon_of,
    parse_place,
    place_of,
    read_bounds,
    read_events,
)
from inventory.identifiers import uuid7
from inventory.models import Event
from operations.outbox import publish
from tests.events.conftest import tell_of


@contextmanager
def open_transaction(action: str, *, commit: bool = True):
    """Run a transaction in another thread that has told of an event and not ended yet."""
    told, end = threading.Event(), threading.Event()

    def run() -> None:
        try:
            with transaction.atomic():
                publish("droplet", action, uuid7(), now=timezone.now())
                told.set()
                assert end.wait(20)
                if not commit:
                    transaction.set_rollback(True)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert told.wait(20)

    def finish() -> None:
        end.set()
        thread.join(20)

    try:
        yield finish
    finally:
        finish()


def actions(after: Place = BEGINNING) -> list[str]:
    return [event.action for event in read_events(after, limit=100)]


@pytest.mark.django_db(transaction=True)
def test_a_later_commit_waits_for_the_earlier_transaction() -> None:
    tell_of("first")
    with open_transaction("slow") as finish:
        tell_of("quick")
        assert actions() == ["first"]
        finish()

        assert actions() == ["first", "slow", "quick"]


@pytest.mark.django_db(transaction=True)
def test_a_rolled_back_transaction_holds_nothing_back_for_long() -> None:
    with open_transaction("never", commit=False) as finish:
        tell_of("quick")
        finish()

        assert actions() == ["quick"]


@pytest.mark.django_db(transaction=True)
def test_reading_in_steps_is_reading_it_all() -> None:
    for number in range(7):
        tell_of(f"event {number}")
    seen, after = [], BEGINNING
    while page := read_events(after, limit=3):
        seen += [event.action for event in page]
        after = place_of(page[-1])

    assert seen == [f"event {number}" for number in range(7)]


@pytest.mark.django_db(transaction=True)
def test_bounds_say_what_can_still_be_told() -> None:
    assert read_bounds().newest == BEGINNING
    for number in range(3):
        tell_of(f"event {number}")
    first, second, third = (place_of(event) for event in Event.objects.order_by("pk"))
    bounds = read_bounds()

    assert (bounds.oldest, bounds.newest) == (first, third)
    assert bounds.can_resume(second)
    assert not bounds.can_resume(Place(bounds.next_transaction, 1))
    Event.objects.filter(pk=first.id).delete()
    assert not read_bounds().can_resume(first)


def test_places_are_read_strictly() -> None:
    assert parse_place("12-34") == Place(12, 34)
    assert [parse_place(odd) for odd in ("", "12", "-1-2", "1-2-3", "9" * 30 + "-1")] == [None] * 5


def test_the_horizon_is_the_oldest_running_transaction_across_a_wrap() -> None:
    epoch = 3 * 2**32

    assert horizon_of(epoch + 10, []) == epoch + 10
    assert horizon_of(epoch + 10, [7, 12]) == epoch + 7
    assert horizon_of(epoch + 10, [11]) == epoch + 10
    assert horizon_of(epoch + 10, [2**32 - 5]) == epoch - 5


@pytest.mark.django_db(transaction=True)
def test_a_long_transaction_of_another_database_holds_nothing_back() -> None:
    options = connection.get_connection_params() | {"dbname": "postgres"}
    options.pop("cursor_factory")
    options.pop("context")
    with psycopg.connect(**options) as neighbour:
        neighbour.execute("SELECT pg_current_xact_id()")
        tell_of("ours")

        assert actions() == ["ours"]
