"""What the agent is about to do, written before it does it, and how long guests have been asked.

After a crash the open intents say where the agent was; what came of them is seen by looking.
"""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from agent.database import Database
from agent.planning.droplets import StopAsked
from agent.protocol.declarations import Declaration
from agent.protocol.values import Generation
from agent.wording import clean

KEPT = 20
"""Ended intents kept for each resource, for whoever wants to know what the agent did."""


class Replaced(Exception):
    """A newer declaration was accepted since the plan was made; plan again."""


@dataclass(frozen=True)
class Interrupted:
    """An intent without an end: the agent stopped in its middle."""

    resource_id: UUID
    generation: Generation
    action: str


class Intents:
    """The intents and requests to stop in a ledger file, of one life of the node.

    Requests to stop count on the steady clock, which starts anew with the machine; so those of
    an earlier life (`ordinal`) say nothing.
    """

    def __init__(self, database: Database, *, ordinal: int) -> None:
        self._database = database
        self._ordinal = ordinal

    def begin(self, declaration: Declaration, action: str, *, at: float) -> int:
        """Write down what is about to be done; return its number. Raises Replaced."""
        key, generation = str(declaration.resource_id), declaration.generation
        number = (key, generation.epoch, generation.counter)
        with self._database.writing() as connection:
            current = connection.execute(
                "SELECT 1 FROM declarations WHERE resource_id = ? AND epoch = ? AND counter = ?",
                number,
            ).fetchone()
            if current is None:
                raise Replaced(key)
            connection.execute(
                "DELETE FROM intents WHERE resource_id = ? AND ended_at IS NOT NULL AND id <="
                " (SELECT id FROM intents WHERE resource_id = ? ORDER BY id DESC"
                "  LIMIT 1 OFFSET ?)",
                (key, key, KEPT),
            )
            written = connection.execute(
                "INSERT INTO intents (resource_id, epoch, counter, action, begun_at)"
                " VALUES (?, ?, ?, ?, ?)",
                (*number, action, at),
            )
            return int(written.lastrowid or 0)

    def end(self, intent: int, outcome: str, *, at: float) -> None:
        """Write down how it went."""
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE intents SET ended_at = ?, outcome = ? WHERE id = ?",
                (at, clean(outcome, limit=500), intent),
            )

    def take_interrupted(self, *, at: float) -> tuple[Interrupted, ...]:
        """Return the intents that have no end, and end them as `interrupted`."""
        with self._database.writing() as connection:
            rows = connection.execute(
                "SELECT * FROM intents WHERE ended_at IS NULL ORDER BY id"
            ).fetchall()
            connection.execute(
                "UPDATE intents SET ended_at = ?, outcome = 'interrupted' WHERE ended_at IS NULL",
                (at,),
            )
        return tuple(
            Interrupted(
                UUID(row["resource_id"]),
                Generation(epoch=row["epoch"], counter=row["counter"]),
                row["action"],
            )
            for row in rows
        )

    def ask_stop(self, declaration: Declaration, *, steady: float) -> None:
        """Remember that the guest is being asked to stop now, under this declaration."""
        generation = declaration.generation
        with self._database.writing() as connection:
            connection.execute(
                "INSERT INTO stops VALUES (:key, :epoch, :counter, :ordinal, :now, :now)"
                " ON CONFLICT (resource_id) DO UPDATE SET last_asked = :now,"
                "  first_asked = CASE WHEN (epoch, counter, ordinal) = (:epoch, :counter, :ordinal)"
                "                THEN first_asked ELSE :now END,"
                "  epoch = :epoch, counter = :counter, ordinal = :ordinal",
                {
                    "key": str(declaration.resource_id),
                    "epoch": generation.epoch,
                    "counter": generation.counter,
                    "ordinal": self._ordinal,
                    "now": steady,
                },
            )

    def find_stop(self, declaration: Declaration, *, steady: float) -> StopAsked | None:
        """Return how long ago the guest was asked to stop under this declaration, if it was."""
        generation = declaration.generation
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT first_asked, last_asked FROM stops WHERE resource_id = ?"
                " AND epoch = ? AND counter = ? AND ordinal = ?",
                (
                    str(declaration.resource_id),
                    generation.epoch,
                    generation.counter,
                    self._ordinal,
                ),
            ).fetchone()
        if row is None:
            return None
        return StopAsked(
            max(0.0, steady - row["first_asked"]), max(0.0, steady - row["last_asked"])
        )

    def forget_stop(self, resource_id: UUID) -> None:
        """Forget the requests: the guest is off, and the next stop has its own grace."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM stops WHERE resource_id = ?", (str(resource_id),))
