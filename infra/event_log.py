"""Reading the outbox in the one order in which nothing is ever passed over.

An event is read only when every transaction up to its own has ended: by then all events before it
are there too. Its place, (transaction, id), is what clients name to go on from.

PostgreSQL's own horizon, `pg_snapshot_xmin`, counts the transactions of every database of the
cluster, so a neighbour's long one would hold our events back. We count those of our database, and
fall back to the cluster's horizon where we may not see whose they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from inventory.models import Event

_HALF = 2**31
_PLACE = re.compile(r"(\d{1,18})-(\d{1,18})")
_READ = """
    SELECT * FROM inventory_event
    WHERE (transaction, id) > (%s, %s) AND transaction < %s
    ORDER BY transaction, id
    LIMIT %s
"""
_BOUNDS = """
    WITH readable AS (
        SELECT transaction, id FROM inventory_event WHERE transaction < %s
    )
    SELECT
        pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
        oldest.transaction, oldest.id, newest.transaction, newest.id
    FROM (SELECT 1) AS always
    LEFT JOIN (SELECT * FROM readable ORDER BY transaction, id LIMIT 1) AS oldest ON true
    LEFT JOIN (SELECT * FROM readable ORDER BY transaction DESC, id DESC LIMIT 1) AS newest ON true
"""

# The running transactions are looked up after the snapshot that `latest` comes from was taken, and
# before the one that events are read under: whoever is below both marks has ended in between or
# before, and is seen. So this must stay a statement of its own.
_RUNNING = """
    SELECT
        pg_snapshot_xmax(snapshot)::text::bigint,
        pg_snapshot_xmin(snapshot)::text::bigint,
        coalesce(bool_or(activity.query = '<insufficient privilege>'), false),
        coalesce(array_agg(activity.backend_xid::text::bigint)
            FILTER (WHERE activity.backend_xid IS NOT NULL), '{}')
    FROM pg_current_snapshot() AS snapshot
    LEFT JOIN pg_stat_activity AS activity ON activity.datname = current_database()
    GROUP BY 1, 2
"""


@dataclass(frozen=True, order=True)
class Place:
    """Where an event stands in the log."""

    transaction: int
    id: int

    def __str__(self) -> str:
        return f"{self.transaction}-{self.id}"


BEGINNING = Place(0, 0)


@dataclass(frozen=True)
class Bounds:
    """The log as it can be read now; `next_transaction` has not begun yet."""

    oldest: Place
    newest: Place
    next_transaction: int

    def can_resume(self, after: Place) -> bool:
        """Return whether all that came after the place can still be told.

        Not so when it was pruned, nor when the place belongs to another life of the database.
        """
        return self.oldest <= after and after.transaction < self.next_transaction


def parse_place(text: str) -> Place | None:
    """Return the place a client names, or None when it is not one."""
    match = _PLACE.fullmatch(text.strip())
    return Place(int(match[1]), int(match[2])) if match else None


def place_of(event: Event) -> Place:
    """Return where the event stands."""
    return Place(event.transaction, event.pk)


def read_events(after: Place, *, limit: int) -> list[Event]:
    """Return the next events after the place that can be read now, in order."""
    return list(Event.objects.raw(_READ, [after.transaction, after.id, _read_horizon(), limit]))


def read_bounds() -> Bounds:
    """Return where the readable log begins and ends."""
    horizon = _read_horizon()
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS, [horizon])
        row = cursor.fetchone()
    next_transaction, *rest = row or (0, None, None, None, None)
    oldest_transaction, oldest_id, newest_transaction, newest_id = (part or 0 for part in rest)
    return Bounds(
        Place(oldest_transaction, oldest_id),
        Place(newest_transaction, newest_id),
        next_transaction,
    )


def _read_horizon() -> int:
    with connection.cursor() as cursor:
        cursor.execute(_RUNNING)
        latest, oldest, hidden, running = cursor.fetchone() or (0, 0, True, [])
    return oldest if hidden else horizon_of(latest, running)


def horizon_of(latest: int, running: Iterable[int]) -> int:
    """Return the transaction below which all have ended (pure).

    `latest` is a full transaction id, `running` are the low 32 bits of ids near it.
    """
    return min([latest, *(latest + _distance(latest, low) for low in running)])


def _distance(latest: int, low: int) -> int:
    """Return how far an id, of which the low 32 bits are given, is from the latest."""
    return (low - latest + _HALF) % (2 * _HALF) - _HALF
