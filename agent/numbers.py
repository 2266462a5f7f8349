"""Numbers that only grow, also across crashes, without a write for each.

The ledger holds a ceiling; up to it numbers are given out from memory. A crash skips what is left
of the block, and a skipped number harms nobody.
"""

from __future__ import annotations

import threading

from agent.database import Database

BLOCK = 100


class Growing:
    """One growing number, e.g. that of polls. Its first value is 1."""

    def __init__(self, database: Database, name: str) -> None:
        self._database = database
        self._name = name
        self._lock = threading.Lock()
        self._last = self._ceiling = read_number(database, name)

    def next(self) -> int:
        with self._lock:
            if self._last == self._ceiling:
                write_number(self._database, self._name, self._ceiling + BLOCK)
                self._ceiling += BLOCK
            self._last += 1
            return self._last


def read_number(database: Database, name: str) -> int:
    """Return a kept number; 0 before it was ever written."""
    with database.reading() as connection:
        row = connection.execute("SELECT value FROM numbers WHERE name = ?", (name,)).fetchone()
    return int(row["value"]) if row else 0


def write_number(database: Database, name: str, value: int) -> None:
    """Keep a number; one that is not higher than what is kept changes nothing."""
    with database.writing() as connection:
        connection.execute(
            "INSERT INTO numbers (name, value) VALUES (?, ?)"
            " ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
            (name, value),
        )
