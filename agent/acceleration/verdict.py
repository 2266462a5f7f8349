"""What the trials of the accelerators say about this machine (pure).

The presence of /dev/kvm is no evidence: it may be there and hang every guest. Only a guest that
ran through all its stages counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from agent.acceleration.sector import STAGES


class Kind(StrEnum):
    """How this machine can run guests: in hardware, by emulation, or not at all."""

    KVM = "kvm"
    TCG = "tcg"
    NONE = "none"


PREFERENCE = (Kind.KVM, Kind.TCG)
"""The accelerators to try, fastest first; the first that works is taken."""


class Ending(StrEnum):
    """How a trial ended."""

    COMPLETED = "completed"
    EXITED = "exited"
    BROKE = "broke"
    LIMIT = "limit"
    NOT_STARTED = "not_started"


@dataclass(frozen=True)
class Trial:
    """One guest started under one accelerator.

    `written` is what it wrote on its serial port, `complaint` the emulator's first line of error,
    `seconds` the time until it ended or was killed.
    """

    accelerator: Kind
    ending: Ending
    written: bytes
    complaint: str
    seconds: float


@dataclass(frozen=True)
class Acceleration:
    """The verdict. `evidence` is one sentence per trial; `seconds` the time all of them took."""

    kind: Kind
    evidence: str
    seconds: float


_REACHED = {
    b"": "before its first instruction",
    b"R": "between real mode and long mode",
    b"RL": "at the first interrupt in long mode",
    b"RLI": "during plain work",
}


def has_completed(trial: Trial) -> bool:
    """Return whether the guest of this trial really ran: all stages, in order."""
    return trial.ending is Ending.COMPLETED and STAGES in trial.written


def decide(trials: Sequence[Trial]) -> Acceleration:
    """Return the preferred accelerator whose trial completed, with what each trial showed."""
    completed = {trial.accelerator for trial in trials if has_completed(trial)}
    kind = next((kind for kind in PREFERENCE if kind in completed), Kind.NONE)
    evidence = " ".join(describe(trial) for trial in trials) or "No accelerator was tried."
    return Acceleration(kind, evidence, round(sum(trial.seconds for trial in trials), 3))


def describe(trial: Trial) -> str:
    """Return one sentence for people: which accelerator, how far the guest came, what was said."""
    if has_completed(trial):
        return f"{trial.accelerator}: a test guest ran through in {trial.seconds:.1f} s."
    said = f" ({trial.complaint})" if trial.complaint else ""
    match trial.ending:
        case Ending.NOT_STARTED:
            return f"{trial.accelerator}: the emulator could not be started{said}."
        case Ending.BROKE:
            ended = f"broke {_where(trial.written)}"
        case Ending.LIMIT:
            ended = f"hung {_where(trial.written)} and was ended after {trial.seconds:.1f} s"
        case Ending.EXITED | Ending.COMPLETED:
            ended = f"ended {_where(trial.written)}"
    return f"{trial.accelerator}: the test guest {ended}{said}."


def _where(written: bytes) -> str:
    return _REACHED.get(written.strip(), "with output that is not its own")
