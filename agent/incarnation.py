"""Which life of the node this is: from the machine's start to its stop.

A random id lies in a folder that a machine start empties. The kernel's boot id and the start time
of process 1 lie beside it, for folders that are not emptied after all (containers keep theirs).
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from pydantic import ValidationError

from agent.database import Database
from agent.protocol.values import Incarnation, WireValue

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
INIT_STAT = Path("/proc/1/stat")
_START_TIME_FIELD = 22
FILE = "incarnation.json"
COUNTED_FROM = 1_577_836_800
"""The start of 2020. A new ledger counts its lives on from the minutes since then: a machine that
lost its ledger and was enrolled anew would else count again from 1, and be taken for its past."""


@dataclass(frozen=True)
class Machine:
    """What the kernel says of this start of the machine."""

    boot_id: str
    init_started: int


class _Kept(WireValue):
    id: UUID
    boot_id: str
    init_started: int


def read_machine() -> Machine:
    """Return the kernel's boot id and when process 1 started, in clock ticks."""
    # The name of the process, in brackets, may hold spaces; what follows it may not.
    fields = INIT_STAT.read_text().rpartition(")")[2].split()
    return Machine(BOOT_ID.read_text().strip(), int(fields[_START_TIME_FIELD - 3]))


def run_folder(state: Path) -> Path:
    """Return the folder of this node that does not outlive the machine's run."""
    name = hashlib.sha256(str(state.resolve()).encode()).hexdigest()[:16]
    base = os.environ.get("XDG_RUNTIME_DIR") if os.geteuid() else "/run"
    if base and os.access(base, os.W_OK):
        return Path(base) / "infra-agent" / name
    return state / "run"


def ensure_life(
    database: Database, folder: Path, machine: Machine, *, fresh_id: UUID, at: float
) -> Incarnation:
    """Return this life, begun now under `fresh_id` if the folder does not hold it yet.

    The ordinal is written to the ledger first: a crash between the two skips an ordinal.
    """
    kept = _read(folder / FILE)
    if kept is not None and (kept.boot_id, kept.init_started) == (
        machine.boot_id,
        machine.init_started,
    ):
        ordinal = _find_ordinal(database, kept.id)
        if ordinal is not None:
            return _incarnation(kept.id, ordinal, machine)
    ordinal = _begin(database, fresh_id, machine, at=at)
    _write(folder / FILE, _Kept(id=fresh_id, **vars(machine)))
    return _incarnation(fresh_id, ordinal, machine)


def _incarnation(life: UUID, ordinal: int, machine: Machine) -> Incarnation:
    return Incarnation(
        id=life, ordinal=ordinal, boot_id=machine.boot_id, init_started=machine.init_started
    )


def _find_ordinal(database: Database, life: UUID) -> int | None:
    """Return the ordinal of a life that is the ledger's newest; an older one has ended."""
    with database.reading() as connection:
        row = connection.execute("SELECT * FROM lives ORDER BY ordinal DESC LIMIT 1").fetchone()
    return int(row["ordinal"]) if row and row["id"] == str(life) else None


def _begin(database: Database, life: UUID, machine: Machine, *, at: float) -> int:
    first = max(1, int((at - COUNTED_FROM) // 60))
    with database.writing() as connection:
        written = connection.execute(
            "INSERT INTO lives (ordinal, id, boot_id, init_started, begun_at)"
            " SELECT coalesce(max(ordinal) + 1, ?), ?, ?, ?, ? FROM lives",
            (first, str(life), machine.boot_id, machine.init_started, at),
        )
        return int(written.lastrowid or 0)


def _read(path: Path) -> _Kept | None:
    try:
        return _Kept.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


def _write(path: Path, kept: _Kept) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(".new")
    fresh.write_text(kept.model_dump_json())
    fresh.replace(path)
