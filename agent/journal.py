"""The agent's journal: what it did and met, numbered without gaps, kept until it was recorded.

Lines leave only when the control plane has said that it holds them. A node that is cut off for
long stops writing at a limit and says afterwards how many lines it did not write.
"""

from __future__ import annotations

from enum import StrEnum
from uuid import UUID

from agent.database import Database
from agent.numbers import read_number, write_number
from agent.protocol.messages import JournalEntry
from agent.wording import clean

LIMIT = 10_000
"""Lines kept at most; some 3 MB, and weeks of an ordinary node's life."""

_LAST = "journal"


class Severity(StrEnum):
    """How much a line matters to whoever watches over the node."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Journal:
    """Writes, reads and forgets lines."""

    def __init__(self, database: Database, *, limit: int = LIMIT) -> None:
        self._database = database
        self._limit = limit
        self._unwritten = 0

    def write(
        self,
        event: str,
        message: str,
        *,
        at: float,
        severity: Severity = Severity.INFO,
        resource_id: UUID | None = None,
        step_id: UUID | None = None,
    ) -> None:
        """Add a line. `event` is a permanent code, `message` one sentence for people."""
        with self._database.writing() as connection:
            count = connection.execute("SELECT count(*) FROM journal").fetchone()[0]
            if count >= self._limit:
                self._unwritten += 1
                return
            if self._unwritten:
                text = f"{self._unwritten} lines were not written: nobody took the journal."
                self._unwritten = 0
                self._insert(JournalEntry(
                    number=self._next(), at=at, severity=Severity.WARNING,
                    event="journal.full", message=text,
                ))  # fmt: skip
            line = JournalEntry(
                number=self._next(),
                at=at,
                severity=severity,
                event=event,
                message=clean(message),
                resource_id=resource_id,
                step_id=step_id,
            )
            self._insert(line)

    def _next(self) -> int:
        number = read_number(self._database, _LAST) + 1
        write_number(self._database, _LAST, number)
        return number

    def _insert(self, line: JournalEntry) -> None:
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    line.number,
                    line.at,
                    line.severity,
                    line.event,
                    line.message,
                    str(line.resource_id) if line.resource_id else None,
                    str(line.step_id) if line.step_id else None,
                ),
            )

    def read(self, *, limit: int) -> tuple[JournalEntry, ...]:
        """Return the oldest lines that nobody has recorded yet."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT * FROM journal ORDER BY number LIMIT ?", (limit,)
            ).fetchall()
        return tuple(JournalEntry.model_validate(dict(row)) for row in rows)

    def forget(self, *, through: int) -> None:
        """Remove the lines up to this number: they are recorded elsewhere."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM journal WHERE number <= ?", (through,))
