"""What a node's ledger says, for a person at the node; nobody is asked and nothing changed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from agent.database import Database
from agent.identity import IdentityStore, NotEnrolled
from agent.journal import Journal
from agent.ledger import Entry, Ledger
from agent.protocol.declarations import AbsentDeclaration

LINES_SHOWN = 20
LINES_READ = 10_000


def describe(state: Path) -> Iterator[str]:
    """Yield the lines of the status."""
    yield from _identity(state)
    database = Database(state / "ledger.sqlite")
    try:
        ledger, journal = Ledger(database), Journal(database)
        entries = ledger.entries()
        results = ledger.results(limit=LINES_READ)
        yield f"delivery      {ledger.delivery()}"
        yield f"declarations  {len(entries)}"
        for entry in entries.values():
            yield f"  {_entry(entry)}"
        yield f"results not yet recorded  {len(results)}"
        for result in results:
            ending = f"{result.outcome} {result.reason} {result.message}".rstrip()
            yield f"  step {result.step_id} {ending}"
        lines = journal.read(limit=LINES_READ)
        yield f"journal lines not yet recorded  {len(lines)}"
        for line in lines[-LINES_SHOWN:]:
            yield f"  {line.number} {_time(line.at)} {line.severity} {line.event}: {line.message}"
    finally:
        database.close()


def _identity(state: Path) -> Iterator[str]:
    try:
        identity = IdentityStore(state).load()
    except NotEnrolled:
        yield "node          not enrolled"
        return
    about = identity.about
    yield f"node          {about.node_name} ({about.node_id})"
    yield f"installation  {about.installation.id}, epoch {about.installation.epoch}"
    yield f"edge          {about.edge_url}"
    renewed = f"renewed from {_time(identity.renew_at)}"
    yield f"certificate   until {_time(identity.not_after)}, {renewed}"


def _entry(entry: Entry) -> str:
    declared = entry.declaration
    state = "matches" if entry.converged else "differs"
    waiting = f", {len(entry.steps)} open step(s)" if entry.steps else ""
    if isinstance(declared, AbsentDeclaration):
        wanted = "absent"
    else:
        wanted = (
            f"{declared.name}: {declared.power}, {declared.vcpus} cpu, {declared.memory_mib} MiB"
        )
    return f"{declared.resource_id} {declared.generation} {wanted}; {state}{waiting}"


def _time(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
