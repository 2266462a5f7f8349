"""The file the ledger is kept in: SQLite, synced to disk at every commit, one writer.

A number in the file says which shape it has. An older shape is brought up to date, one step
after the other; a newer one is refused, since an older agent would misread it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MIGRATIONS: Sequence[str] = (
    """
    CREATE TABLE installation (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        id TEXT NOT NULL, epoch INTEGER NOT NULL, token TEXT NOT NULL
    );
    CREATE TABLE declarations (
        resource_id TEXT PRIMARY KEY,
        epoch INTEGER NOT NULL, counter INTEGER NOT NULL,
        absent INTEGER NOT NULL, body TEXT NOT NULL,
        reached INTEGER NOT NULL DEFAULT 0, converged INTEGER NOT NULL DEFAULT 0,
        accepted_at REAL NOT NULL
    );
    CREATE TABLE steps (
        step_id TEXT PRIMARY KEY, operation_id TEXT NOT NULL, resource_id TEXT NOT NULL,
        epoch INTEGER NOT NULL, counter INTEGER NOT NULL, opened_at REAL NOT NULL
    );
    CREATE INDEX steps_by_resource ON steps (resource_id);
    CREATE TABLE results (
        step_id TEXT NOT NULL, epoch INTEGER NOT NULL, counter INTEGER NOT NULL,
        body TEXT NOT NULL, PRIMARY KEY (step_id, epoch, counter)
    );
    CREATE TABLE intents (
        id INTEGER PRIMARY KEY, resource_id TEXT NOT NULL,
        epoch INTEGER NOT NULL, counter INTEGER NOT NULL, action TEXT NOT NULL,
        begun_at REAL NOT NULL, ended_at REAL, outcome TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX intents_by_resource ON intents (resource_id);
    CREATE TABLE stops (
        resource_id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, counter INTEGER NOT NULL,
        ordinal INTEGER NOT NULL, first_asked REAL NOT NULL, last_asked REAL NOT NULL
    );
    CREATE TABLE lives (
        ordinal INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, boot_id TEXT NOT NULL,
        init_started INTEGER NOT NULL, begun_at REAL NOT NULL
    );
    CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
    CREATE TABLE journal (
        number INTEGER PRIMARY KEY, at REAL NOT NULL, severity TEXT NOT NULL,
        event TEXT NOT NULL, message TEXT NOT NULL, resource_id TEXT, step_id TEXT
    );
    """,
)
"""Each brings a file one shape further. Only ever append."""

BUSY_SECONDS = 10.0


class NewerLedger(Exception):
    """The ledger was written by a newer agent."""

    def __init__(self, shape: int) -> None:
        super().__init__(
            f"The ledger has shape {shape}, this agent knows up to {len(MIGRATIONS)}. "
            "Run the newer agent; the ledger is left as it is."
        )


class Database:
    """One open ledger file. Its methods may be called from any thread, one at a time."""

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises NewerLedger, sqlite3.Error."""
        path.touch(mode=0o600, exist_ok=True)
        self._lock = threading.RLock()
        self._connection = sqlite3.connect(
            path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self._connection.row_factory = sqlite3.Row
        try:
            self._connection.execute("PRAGMA journal_mode = WAL")
            # FULL: what has been committed has reached the disk, also when power is cut.
            self._connection.execute("PRAGMA synchronous = FULL")
            self._migrate()
        except BaseException:
            self._connection.close()
            raise

    def _migrate(self) -> None:
        with self.writing() as connection:
            shape = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if shape > len(MIGRATIONS):
                raise NewerLedger(shape)
            for number, script in enumerate(MIGRATIONS[shape:], start=shape + 1):
                for statement in script.split(";"):
                    if statement.strip():
                        connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Write in one transaction: all of it is on disk when this ends, or nothing.

        Within one another the outermost decides.
        """
        with self._lock:
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Read a state that no writer changes meanwhile."""
        with self._lock:
            yield self._connection

    def close(self) -> None:
        with self._lock:
            self._connection.close()
