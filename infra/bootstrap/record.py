"""What the supervisor says about itself in files: for `status`, `down` and the next `up`."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from infra.bootstrap.places import Places
from infra.bootstrap.refusals import CannotContinue


@dataclass(frozen=True)
class ProcessRecord:
    """One supervised process. Times are seconds since 1970; pid 0 means it waits to be started."""

    name: str
    pid: int
    start_ticks: int
    started: float
    restarts: int


@dataclass(frozen=True)
class Record:
    """The supervisor's own account, written anew at every change."""

    pid: int
    port: int
    ready: bool
    processes: tuple[ProcessRecord, ...] = ()


@dataclass(frozen=True)
class Choices:
    """What is remembered between runs of an installation."""

    port: int | None = None
    libvirt_uri: str = ""
    installation_id: str = ""


def replace_file(path: Path, text: str) -> None:
    """Write the file so that a reader, or a crash, sees the old text or the new one."""
    draft = path.with_name(f"{path.name}.new")
    with draft.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)


def write_record(places: Places, record: Record) -> None:
    """Publish the account."""
    replace_file(places.record, json.dumps(asdict(record), indent=1))


def read_record(places: Places) -> Record | None:
    """Return the last account of a supervisor, which may be dead; None when there is none."""
    try:
        raw = json.loads(places.record.read_text())
        processes = tuple(ProcessRecord(**process) for process in raw.pop("processes"))
        return Record(**raw, processes=processes)
    except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
        return None


def write_choices(places: Places, choices: Choices) -> None:
    """Remember the choices for the next run."""
    replace_file(places.choices, json.dumps(asdict(choices), indent=1))


def read_choices(places: Places) -> Choices:
    """Return what is remembered; nothing before the first run."""
    try:
        return Choices(**json.loads(places.choices.read_text()))
    except (FileNotFoundError, json.JSONDecodeError, TypeError):
        return Choices()


class AlreadyUp(CannotContinue):
    """Another supervisor holds this installation."""


@contextmanager
def held(places: Places) -> Iterator[None]:
    """Be the installation's one supervisor; the kernel lets go even after kill -9.

    Raises AlreadyUp.
    """
    with places.lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyUp(f"Already up from {places.data}.") from None
        yield


def is_held(places: Places) -> bool:
    """Return whether a supervisor runs for this installation now."""
    try:
        with places.lock.open("r") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
