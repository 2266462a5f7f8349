"""Ends what a supervisor that was itself killed has left running. Guests are not among it."""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.places import Places
from infra.bootstrap.record import read_record
from infra.bootstrap.systemprocesses import (
    SystemProcess,
    find_marked,
    find_process,
    is_alive,
    program_name,
    send,
)

PATIENCE_SECONDS = 8.0
DATABASE_SECONDS = 60.0
LOOK_AGAIN_SECONDS = 0.05


@dataclass(frozen=True)
class Leftovers:
    """Processes of an installation without a supervisor. The servers are ended after the rest."""

    database: tuple[SystemProcess, ...]
    others: tuple[SystemProcess, ...]

    def __bool__(self) -> bool:
        return bool(self.database or self.others)


def find_leftovers(places: Places) -> Leftovers:
    """Return what still runs, by the record, by the servers' own files and by our mark."""
    database = _from_pid_file(places.cluster / "postmaster.pid", "postgres")
    redis = _from_pid_file(places.redis / "redis.pid", "redis-server")
    record = read_record(places)
    recorded = [
        SystemProcess(process.pid, process.start_ticks)
        for process in (record.processes if record else ())
        if process.pid and process.name != "postgres"
    ]
    others = {*redis, *find_marked(places.data), *(p for p in recorded if is_alive(p))}
    # Backends and helpers of the database follow their server.
    return Leftovers(database, tuple(p for p in others if program_name(p.pid) != "postgres"))


def _from_pid_file(path: Path, program: str) -> tuple[SystemProcess, ...]:
    try:
        process = find_process(int(path.read_text().split()[0]))
    except (FileNotFoundError, ValueError, IndexError):
        return ()
    # After a crash of the machine the number may belong to anything.
    return (process,) if process and program_name(process.pid) == program else ()


def end_leftovers(leftovers: Leftovers) -> None:
    """Ask them to stop, force those that do not, then shut the database down cleanly."""
    _end(leftovers.others, signal.SIGTERM, PATIENCE_SECONDS, signal.SIGKILL)
    _end(leftovers.database, signal.SIGINT, DATABASE_SECONDS, signal.SIGQUIT)


def _end(
    processes: Sequence[SystemProcess],
    first: signal.Signals,
    seconds: float,
    last: signal.Signals,
) -> None:
    for process in processes:
        send(process, first)
    _wait_for_end(processes, seconds)
    for process in processes:
        send(process, last)
    _wait_for_end(processes, seconds)


def _wait_for_end(processes: Sequence[SystemProcess], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(is_alive(process) for process in processes) and time.monotonic() < deadline:
        # Not our children: no signal tells of their end.
        signal.sigtimedwait((), LOOK_AGAIN_SECONDS)
