"""What ends a command badly, and the exit code it ends with. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What scripts may rely on."""

    OK = 0
    ERROR = 1
    USAGE = 2
    NOT_FOUND = 3
    CONFLICT = 4
    UNCERTAIN = 5
    """Timed out, or what came of it is not known."""
    STOPPED = 130
    """Ctrl-C."""


@dataclass(frozen=True)
class FieldTrouble:
    """What is wrong with one field; `pointer` is a JSON pointer into what was sent."""

    pointer: str
    message: str


@dataclass(eq=False)
class Failure(Exception):
    """A command's bad end: what happened, what is still safe, what to do next."""

    code: ExitCode
    what: str
    safe: str = ""
    advice: str = ""
    fields: tuple[FieldTrouble, ...] = ()
    request_id: str = ""

    def __str__(self) -> str:
        return self.what


def usage(what: str, *, advice: str = "") -> Failure:
    """Return the failure of a command line that cannot be meant as it stands."""
    return Failure(ExitCode.USAGE, what, safe="Nothing was sent.", advice=advice)


def failure_text(failure: Failure) -> str:
    """Return the failure as lines for a person."""
    lines = [f"Error: {failure.what}"]
    lines += [f"  {field.pointer or '/'}  {field.message}" for field in failure.fields]
    lines += [sentence for sentence in (failure.safe, failure.advice) if sentence]
    if failure.request_id:
        lines.append(f"Request id: {failure.request_id}")
    return "\n".join(lines)
