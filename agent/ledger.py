"""What this node was told and what came of it, on disk before anything is done about it.

Of every resource the newest declaration is kept, for ever if it says `absent`: a late order can
then never bring back what was deleted. Results stay until the control plane has recorded them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from uuid import UUID

from pydantic import TypeAdapter

from agent.database import Database
from agent.numbers import read_number, write_number
from agent.protocol.declarations import AbsentDeclaration, Declaration
from agent.protocol.messages import LedgerEntry, StepOrder, StepOutcome, StepResult
from agent.protocol.observations import DropletObservation
from agent.protocol.values import Generation, InstallationIdentity
from agent.wording import clean

_DECLARATIONS: TypeAdapter[Declaration] = TypeAdapter(Declaration)
_DELIVERY = "delivery"


class Acceptance(StrEnum):
    """What the ledger made of an order.

    `repeated`: it was known. `superseded`: a newer declaration is held, and the step ends refused.
    `conflicting`: another declaration of the same generation is held; refused as well.
    """

    ACCEPTED = "accepted"
    REPEATED = "repeated"
    SUPERSEDED = "superseded"
    CONFLICTING = "conflicting"


class Rival(Exception):
    """Another control plane than the one this node obeys; nothing of its answer was taken."""


@dataclass(frozen=True)
class OpenStep:
    """A step that was ordered and has not ended."""

    step_id: UUID
    generation: Generation


@dataclass(frozen=True)
class Entry:
    """What the ledger holds for a resource.

    `reached` says that the node has matched this declaration at some time, `converged` that it
    did when it was looked at last.
    """

    declaration: Declaration
    steps: tuple[OpenStep, ...]
    reached: bool
    converged: bool

    @property
    def absent(self) -> bool:
        return isinstance(self.declaration, AbsentDeclaration)


@dataclass(frozen=True)
class Taken:
    """An order and what the ledger made of it."""

    order: StepOrder
    acceptance: Acceptance


class Ledger:
    """The declarations, steps and results in a ledger file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find_installation(self) -> InstallationIdentity | None:
        """Return the control plane this node obeys, or None before it met one."""
        with self._database.reading() as connection:
            row = connection.execute("SELECT id, epoch, token FROM installation").fetchone()
        return InstallationIdentity.model_validate(dict(row)) if row else None

    def meet(self, installation: InstallationIdentity) -> None:
        """Obey this control plane if none, or an earlier life of it, was obeyed. Raises Rival."""
        with self._database.writing() as connection:
            known = self.find_installation()
            if known == installation:
                return
            if known is not None:
                _check_successor(known, installation)
            connection.execute(
                "INSERT OR REPLACE INTO installation VALUES (1, ?, ?, ?)",
                (str(installation.id), installation.epoch, installation.token),
            )

    def delivery(self) -> int:
        """Return the highest delivery whose orders are written here."""
        return read_number(self._database, _DELIVERY)

    def take(
        self,
        installation: InstallationIdentity,
        delivery: int,
        orders: Sequence[StepOrder],
        *,
        at: float,
    ) -> tuple[Taken, ...]:
        """Write the orders and their delivery number together. Raises Rival: none was taken."""
        with self._database.writing() as connection:
            self.meet(installation)
            taken = tuple(Taken(order, _accept(connection, order, at=at)) for order in orders)
            write_number(self._database, _DELIVERY, delivery)
        return taken

    def find(self, resource_id: UUID) -> Entry | None:
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT * FROM declarations WHERE resource_id = ?", (str(resource_id),)
            ).fetchone()
            return _entry(row, _open_steps(connection, resource_id)) if row else None

    def entries(self) -> dict[UUID, Entry]:
        """Return all that is held, by resource."""
        with self._database.reading() as connection:
            steps: dict[str, list[OpenStep]] = {}
            for row in connection.execute("SELECT * FROM steps ORDER BY opened_at, step_id"):
                steps.setdefault(row["resource_id"], []).append(_open_step(row))
            rows = connection.execute("SELECT * FROM declarations ORDER BY resource_id").fetchall()
        return {
            UUID(row["resource_id"]): _entry(row, tuple(steps.get(row["resource_id"], ())))
            for row in rows
        }

    def digest(self) -> tuple[int, tuple[LedgerEntry, ...]]:
        """Return the delivery number and what is held under it, read at one moment."""
        with self._database.reading():
            delivery, entries = self.delivery(), self.entries()
        return delivery, tuple(
            LedgerEntry(
                resource_id=key,
                generation=entry.declaration.generation,
                absent=entry.absent,
                converged=entry.converged,
                step_id=entry.steps[-1].step_id if entry.steps else None,
            )
            for key, entry in entries.items()
        )

    def mark(self, resource_id: UUID, generation: Generation, *, converged: bool) -> bool:
        """Write whether the node matches; return False if the declaration has been replaced."""
        with self._database.writing() as connection:
            if not _is_current(connection, resource_id, generation):
                return False
            connection.execute(
                "UPDATE declarations SET converged = ?, reached = max(reached, ?)"
                " WHERE resource_id = ?",
                (converged, converged, str(resource_id)),
            )
        return True

    def finish(
        self,
        entry: Entry,
        outcome: StepOutcome,
        *,
        at: float,
        reason: str = "",
        message: str = "",
        observed: DropletObservation | None = None,
    ) -> tuple[StepResult, ...]:
        """End the entry's open steps, unless a newer declaration has ended them already.

        `done` also writes that the node matches the declaration.
        """
        resource_id, generation = entry.declaration.resource_id, entry.declaration.generation
        with self._database.writing() as connection:
            done = outcome is StepOutcome.DONE
            if not self.mark(resource_id, generation, converged=done):
                return ()
            results = tuple(
                StepResult(
                    step_id=step.step_id,
                    resource_id=resource_id,
                    generation=step.generation,
                    outcome=outcome,
                    reason=reason,
                    message=clean(message),
                    observed=observed,
                    finished_at=at,
                )
                for step in _open_steps(connection, resource_id)
            )
            for result in results:
                _end(connection, result)
        return results

    def results(self, *, limit: int) -> tuple[StepResult, ...]:
        """Return the oldest results that nobody has recorded yet."""
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT body FROM results ORDER BY rowid LIMIT ?", (limit,)
            ).fetchall()
        return tuple(StepResult.model_validate_json(row["body"]) for row in rows)

    def forget_results(self, results: Iterable[StepResult]) -> None:
        """Remove exactly these results: they are recorded elsewhere."""
        with self._database.writing() as connection:
            connection.executemany(
                "DELETE FROM results WHERE step_id = ? AND epoch = ? AND counter = ?",
                [
                    (str(result.step_id), result.generation.epoch, result.generation.counter)
                    for result in results
                ],
            )


def _check_successor(known: InstallationIdentity, other: InstallationIdentity) -> None:
    if other.id != known.id:
        raise Rival(f"This node belongs to installation {known.id}, not to {other.id}.")
    if other.epoch < known.epoch:
        raise Rival(f"Epoch {other.epoch} of the installation ended; {known.epoch} is obeyed.")
    if other.epoch == known.epoch:
        raise Rival(f"Another control plane claims epoch {known.epoch} of the installation.")


def _accept(connection: sqlite3.Connection, order: StepOrder, *, at: float) -> Acceptance:
    declaration = order.declaration
    resource_id, generation = declaration.resource_id, declaration.generation
    row = connection.execute(
        "SELECT * FROM declarations WHERE resource_id = ?", (str(resource_id),)
    ).fetchone()
    held = _declaration(row) if row else None
    if held is not None and generation < held.generation:
        text = f"The node holds the newer generation {held.generation} of this resource."
        _refuse(connection, order, "superseded", text, at=at)
        return Acceptance.SUPERSEDED
    if held is not None and generation == held.generation:
        if held != declaration:
            text = f"The node holds another declaration of generation {generation}."
            _refuse(connection, order, "generation.conflict", text, at=at)
            return Acceptance.CONFLICTING
        _open(connection, order, at=at)
        return Acceptance.REPEATED
    _supersede_open(connection, order, at=at)
    connection.execute(
        "INSERT OR REPLACE INTO declarations VALUES (?, ?, ?, ?, ?, 0, 0, ?)",
        (
            str(resource_id),
            generation.epoch,
            generation.counter,
            isinstance(declaration, AbsentDeclaration),
            _DECLARATIONS.dump_json(declaration).decode(),
            at,
        ),
    )
    _open(connection, order, at=at)
    return Acceptance.ACCEPTED


def _open(connection: sqlite3.Connection, order: StepOrder, *, at: float) -> None:
    """Open the step, unless how it ended is still here to be told."""
    generation = order.declaration.generation
    told = connection.execute(
        "SELECT 1 FROM results WHERE step_id = ? AND epoch = ? AND counter = ?",
        (str(order.step_id), generation.epoch, generation.counter),
    ).fetchone()
    if told is None:
        connection.execute(
            "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?, ?)",
            (
                str(order.step_id),
                str(order.operation_id),
                str(order.declaration.resource_id),
                generation.epoch,
                generation.counter,
                at,
            ),
        )


def _supersede_open(connection: sqlite3.Connection, order: StepOrder, *, at: float) -> None:
    """End the steps that asked for the older declaration. One sent anew just goes on."""
    declaration = order.declaration
    for step in _open_steps(connection, declaration.resource_id):
        if step.step_id == order.step_id:
            continue
        result = StepResult(
            step_id=step.step_id,
            resource_id=declaration.resource_id,
            generation=step.generation,
            outcome=StepOutcome.REFUSED,
            reason="superseded",
            message=f"Generation {declaration.generation} of this resource was declared since.",
            finished_at=at,
        )
        _end(connection, result)


def _refuse(
    connection: sqlite3.Connection, order: StepOrder, reason: str, message: str, *, at: float
) -> None:
    result = StepResult(
        step_id=order.step_id,
        resource_id=order.declaration.resource_id,
        generation=order.declaration.generation,
        outcome=StepOutcome.REFUSED,
        reason=reason,
        message=message,
        finished_at=at,
    )
    _end(connection, result)


def _end(connection: sqlite3.Connection, result: StepResult) -> None:
    """Keep the result, and close the step if it is open under the same generation."""
    key = (str(result.step_id), result.generation.epoch, result.generation.counter)
    connection.execute(
        "INSERT OR IGNORE INTO results VALUES (?, ?, ?, ?)", (*key, result.model_dump_json())
    )
    connection.execute("DELETE FROM steps WHERE step_id = ? AND epoch = ? AND counter = ?", key)


def _is_current(connection: sqlite3.Connection, resource_id: UUID, generation: Generation) -> bool:
    row = connection.execute(
        "SELECT 1 FROM declarations WHERE resource_id = ? AND epoch = ? AND counter = ?",
        (str(resource_id), generation.epoch, generation.counter),
    ).fetchone()
    return row is not None


def _open_steps(connection: sqlite3.Connection, resource_id: UUID) -> tuple[OpenStep, ...]:
    rows = connection.execute(
        "SELECT * FROM steps WHERE resource_id = ? ORDER BY opened_at, step_id",
        (str(resource_id),),
    ).fetchall()
    return tuple(_open_step(row) for row in rows)


def _open_step(row: sqlite3.Row) -> OpenStep:
    generation = Generation(epoch=row["epoch"], counter=row["counter"])
    return OpenStep(UUID(row["step_id"]), generation)


def _entry(row: sqlite3.Row, steps: tuple[OpenStep, ...]) -> Entry:
    return Entry(
        _declaration(row), steps, reached=bool(row["reached"]), converged=bool(row["converged"])
    )


def _declaration(row: sqlite3.Row) -> Declaration:
    return _read(row["body"])


@lru_cache(maxsize=4096)
def _read(body: str) -> Declaration:
    """Return a declaration, which never changes; surveys read all of them again and again."""
    return _DECLARATIONS.validate_json(body)
