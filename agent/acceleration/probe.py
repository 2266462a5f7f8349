"""Finds out how this machine can run guests, by running one under each accelerator in turn."""

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import IO

from agent.acceleration.sector import SECTOR, STAGES
from agent.acceleration.verdict import (
    PREFERENCE,
    Acceleration,
    Ending,
    Kind,
    Trial,
    decide,
    has_completed,
)

LIMIT_SECONDS = 5.0
"""Per accelerator. A working one needs 0.1 to 0.5 s; a busy machine may take several times that."""

COMPLAINT_LENGTH = 200
OUTPUT_LIMIT = 64 * 1024
"""An emulator that talks more than this is not running our guest."""

BROKEN_MARKS = (b"internal error", b"emulation failure")
"""What QEMU writes when an accelerator gave up on a guest; it then stands still for ever."""


def probe(emulator: str, *, limit_seconds: float = LIMIT_SECONDS) -> Acceleration:
    """Return how `emulator` can run guests here; `limit_seconds` bounds each trial.

    Stops at the first accelerator that works. Never raises for an emulator that is missing,
    hangs or misbehaves: that is a verdict of `none` with the reason.
    """
    trials: list[Trial] = []
    with tempfile.TemporaryDirectory(prefix="infra-probe-") as folder:
        sector = Path(folder) / "sector"
        sector.write_bytes(SECTOR)
        for accelerator in PREFERENCE:
            command = emulator_command(emulator, accelerator, sector)
            trials.append(_try(accelerator, command, limit_seconds=limit_seconds))
            if has_completed(trials[-1]):
                break
    return decide(trials)


def emulator_command(emulator: str, accelerator: Kind, sector: Path) -> list[str]:
    """Return the command that boots the sector from a diskette, with COM1 on standard output."""
    return [
        emulator,
        *("-accel", accelerator.value, "-machine", "pc", "-m", "16"),
        *("-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-serial", "stdio"),
        *("-device", "isa-debug-exit,iobase=0x501,iosize=1"),
        *("-drive", f"file={sector},format=raw,if=floppy,readonly=on", "-boot", "a"),
    ]


def _try(accelerator: Kind, command: list[str], *, limit_seconds: float) -> Trial:
    started = time.monotonic()
    if shutil.which(command[0]) is None:
        return Trial(accelerator, Ending.NOT_STARTED, b"", os.strerror(errno.ENOENT), 0.0)
    try:
        # A session of its own, so that the whole family can be ended at the limit.
        process = subprocess.Popen(
            [*_dying_with_us(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Trial(accelerator, Ending.NOT_STARTED, b"", error.strerror or str(error), 0.0)
    try:
        ending, written, errors = _listen(process, deadline=started + limit_seconds)
    finally:
        _end_family(process)
    return Trial(
        accelerator, ending, written, _complaint(errors), round(time.monotonic() - started, 3)
    )


def _dying_with_us() -> list[str]:
    """Return the words before a command that end it when this agent is killed meanwhile."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", "KILL", "--"] if setpriv else []


def _listen(process: subprocess.Popen[bytes], *, deadline: float) -> tuple[Ending, bytes, bytes]:
    """Read until the guest completed, the accelerator broke, the pipes closed or time is up."""
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    heard: dict[IO[bytes], bytes] = {process.stdout: b"", process.stderr: b""}
    ending = Ending.EXITED
    with selectors.DefaultSelector() as selector:
        for pipe in heard:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(timeout=left) if left > 0 else []
            if not ready:
                ending = Ending.LIMIT
                break
            for key, _ in ready:
                pipe = process.stdout if key.fileobj is process.stdout else process.stderr
                data = os.read(pipe.fileno(), 4096)
                heard[pipe] += data
                if not data:
                    selector.unregister(pipe)
            if (found := _conclusion(heard[process.stdout], heard[process.stderr])) is not None:
                ending = found
                break
    return ending, heard[process.stdout], heard[process.stderr]


def _conclusion(written: bytes, errors: bytes) -> Ending | None:
    if STAGES in written:
        return Ending.COMPLETED
    if any(mark in errors for mark in BROKEN_MARKS):
        return Ending.BROKE
    if len(written) + len(errors) > OUTPUT_LIMIT:
        return Ending.EXITED
    return None


def _end_family(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    # A process stuck in the kernel cannot be reaped at once; it is dead to us all the same.
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _complaint(errors: bytes) -> str:
    """Return the line that tells most: an error before a warning, the first of its sort."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines() if line.strip()]
    serious = [line for line in lines if "warning:" not in line]
    return (serious or lines or [""])[0][:COMPLAINT_LENGTH]
