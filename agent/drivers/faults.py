"""Declared misbehaviour of the fake hypervisor: read from `faults.json` at every call.

    {"seed": 7,
     "calls": {"start": {"delay_seconds": 0.5, "lose": 1.0, "times": 1}, "*": {"refuse": 0.1}}}

`refuse`, `reject`, `lose`, `unreadable` and `die` are chances from 0 to 1, drawn from the seed and
the number of the call, so that a run can be replayed. `times` bounds how often a fault strikes.
"""

from __future__ import annotations

import os
import random
import signal
import threading
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from agent.drivers.base import OutcomeUnknown, Refused, Rejected

FAULTS = "faults.json"
STRUCK = "struck.json"


class CallFaults(BaseModel):
    """What may go wrong with one call.

    `refuse` and `reject` strike before anything happened, `lose` and `die` after it did;
    `unreadable` makes a look fail. `die` ends this process as `kill -9` would.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    delay_seconds: float = 0.0
    refuse: float = 0.0
    reject: float = 0.0
    lose: float = 0.0
    unreadable: float = 0.0
    die: float = 0.0
    times: int | None = None
    code: str = "fake.fault"
    message: str = "declared in faults.json"


class Faults(BaseModel):
    """The whole file. A call without an entry of its own takes the one named `*`.

    `stop_ignored` guests do not hear their power button; the others stop `stop_seconds` after it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 0
    stop_ignored: bool = False
    stop_seconds: float = 0.0
    calls: dict[str, CallFaults] = Field(default_factory=dict)

    def of(self, call: str) -> CallFaults:
        return self.calls.get(call) or self.calls.get("*") or CallFaults()


class _Struck(BaseModel):
    """How often each call was made and each fault struck, kept across processes."""

    calls: dict[str, int] = Field(default_factory=dict)
    strikes: dict[str, int] = Field(default_factory=dict)


class Misfortune:
    """What will happen to one call. The caller asks before and after acting."""

    def __init__(self, fault: CallFaults, struck: str) -> None:
        self._fault = fault
        self._struck = struck

    @property
    def unreadable(self) -> bool:
        return self._struck == "unreadable"

    def wait(self) -> None:
        """Let the declared delay pass. Hold no lock while calling."""
        if self._fault.delay_seconds > 0:
            threading.Event().wait(self._fault.delay_seconds)

    def before(self) -> None:
        """Raise `Rejected` or `Refused` if the call is to fail without having acted."""
        if self._struck == "reject":
            raise Rejected(self._fault.code, self._fault.message)
        if self._struck == "refuse":
            raise Refused(self._fault.code, self._fault.message)

    def after(self) -> None:
        """Raise `OutcomeUnknown` if the answer is to be lost, or end the process."""
        if self._struck == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if self._struck == "lose":
            raise OutcomeUnknown(self._fault.code, self._fault.message)


def read_faults(folder: Path) -> Faults:
    """Return what `faults.json` declares; nothing goes wrong without the file."""
    try:
        return Faults.model_validate_json((folder / FAULTS).read_text())
    except FileNotFoundError:
        return Faults()


def draw(folder: Path, call: str) -> Misfortune:
    """Return what will happen to this call, and count it. The caller holds the folder's lock."""
    faults = read_faults(folder)
    fault = faults.of(call)
    path = folder / STRUCK
    kept = _Struck.model_validate_json(path.read_text()) if path.exists() else _Struck()
    key = f"{faults.seed}:{call}"
    number = kept.calls.get(key, 0) + 1
    struck = _choose(fault, random.Random(f"{key}:{number}"))  # noqa: S311
    if fault.times is not None and kept.strikes.get(key, 0) >= fault.times:
        struck = ""
    if fault != CallFaults():
        kept.calls[key] = number
        kept.strikes[key] = kept.strikes.get(key, 0) + bool(struck)
        fresh = path.with_suffix(".new")
        fresh.write_text(kept.model_dump_json())
        fresh.replace(path)
    return Misfortune(fault, struck)


def _choose(fault: CallFaults, dice: random.Random) -> str:
    chances = {
        "reject": fault.reject,
        "refuse": fault.refuse,
        "lose": fault.lose,
        "die": fault.die,
        "unreadable": fault.unreadable,
    }
    drawn = {name: dice.random() < chance for name, chance in chances.items()}
    return next((name for name, strikes in drawn.items() if strikes), "")
