"""Lets the supervisor go on in the background once it is ready, and not before."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

READY = b"\0"
"""What the background process sends last: the terminal is no longer its own."""


def run_in_background(work: Callable[[Callable[[], None]], int], log: Path) -> int:
    """Run `work` in a process that outlives this one; return when it calls what it is given.

    Until then its words appear here. Returns 0 when it is ready, else its exit code.
    """
    sys.stdout.flush()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _become_background(work, writing, log)
    os.close(writing)
    signal.signal(signal.SIGINT, lambda *_: os.kill(pid, signal.SIGTERM))
    if _relay(reading):
        return 0
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _relay(reading: int) -> bool:
    """Copy words to the terminal until they end; return whether the end was readiness."""
    while chunk := os.read(reading, 65536):
        sys.stdout.write(chunk.rstrip(READY).decode(errors="replace"))
        sys.stdout.flush()
        if chunk.endswith(READY):
            return True
    return False


def _become_background(work: Callable[[Callable[[], None]], int], writing: int, log: Path) -> None:
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(writing, 1)
    os.dup2(writing, 2)
    os.close(writing)

    def release() -> None:
        sys.stdout.flush()
        os.write(1, READY)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        os.close(file)

    code = 1
    try:
        code = work(release)
    finally:
        sys.stdout.flush()
        os._exit(code)
