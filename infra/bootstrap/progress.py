"""Tells the person at the terminal what is done and how long it took."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO

FELT_SECONDS = 0.1
"""Shorter steps are printed without their time."""


@dataclass
class Outcome:
    """What to print when a step has ended well."""

    text: str = "done"


class Progress:
    """Lines that begin with the seconds since the start."""

    def __init__(self, out: TextIO | None = None) -> None:
        self._out = out or sys.stdout
        self._started = time.monotonic()

    def elapsed_seconds(self) -> float:
        return time.monotonic() - self._started

    def say(self, text: str) -> None:
        print(f"{self.elapsed_seconds():6.1f} s  {text}", file=self._out, flush=True)

    def plain(self, text: str = "") -> None:
        print(text, file=self._out, flush=True)

    @contextmanager
    def step(self, doing: str) -> Iterator[Outcome]:
        """Print one line for what is done inside, with its own time when it was felt."""
        before = time.monotonic()
        outcome = Outcome()
        try:
            yield outcome
        except BaseException:
            self.say(f"{doing}: did not succeed")
            raise
        took = time.monotonic() - before
        self.say(f"{doing}: {outcome.text}" + (f" ({took:.1f} s)" if took >= FELT_SECONDS else ""))
