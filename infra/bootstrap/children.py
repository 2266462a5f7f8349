"""One supervised process: how it is started, seen to be ready, started again and stopped."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from infra.bootstrap.record import ProcessRecord
from infra.bootstrap.systemprocesses import find_process

FIRST_BACK_OFF = 0.5
LONGEST_BACK_OFF = 30.0
STEADY_SECONDS = 30.0
"""A process that ran this long is taken to be sound: its next back-off is the first one again."""

LOG_LIMIT = 16 * 1024 * 1024
"""Bytes after which a log is put aside at the next start, as NAME.log.1."""


def always() -> bool:
    """Return that a process is ready as soon as it runs."""
    return True


@dataclass(frozen=True)
class ProcessSpec:
    """A process to keep running. Processes of a higher `tier` are stopped before lower ones."""

    name: str
    title: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path
    is_ready: Callable[[], bool] = always
    ready_seconds: float = 60.0
    user: str | None = None
    tier: int = 1
    stop_signal: signal.Signals = signal.SIGTERM
    stop_seconds: float = 15.0
    last_signal: signal.Signals = signal.SIGKILL


def back_off(failures: int) -> float:
    """Return the seconds to wait before start number `failures` + 1 (pure)."""
    return min(LONGEST_BACK_OFF, FIRST_BACK_OFF * 2.0 ** min(failures, 16))


def open_signals() -> None:
    """Run in the child before its program: the supervisor's blocked signals are not for it."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def group_ids(user: str) -> tuple[int, list[int]]:
    """Return the user's first group and all of them."""
    entry = pwd.getpwnam(user)
    return entry.pw_gid, os.getgrouplist(user, entry.pw_gid)


def own_folder(folder: Path, user: str | None) -> None:
    """Make a folder that nobody but the user (None: the one who runs this) can look into."""
    folder.mkdir(parents=True, exist_ok=True)
    if user:
        shutil.chown(folder, user, group_ids(user)[0])
    folder.chmod(0o700)


def spawn(spec: ProcessSpec) -> subprocess.Popen[bytes]:
    """Start the program in a session of its own, so that Ctrl-C reaches the supervisor only."""
    if spec.log.exists() and spec.log.stat().st_size > LOG_LIMIT:
        spec.log.replace(spec.log.with_name(f"{spec.log.name}.1"))
    group, groups = group_ids(spec.user) if spec.user else (None, None)
    with spec.log.open("ab") as log:
        return subprocess.Popen(
            spec.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=spec.env,
            cwd=spec.cwd,
            start_new_session=True,
            preexec_fn=open_signals,  # noqa: PLW1509 - the supervisor has one thread
            user=spec.user,
            group=group,
            extra_groups=groups,
        )


@dataclass
class Child:
    """A spec and what has become of it."""

    spec: ProcessSpec
    popen: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    began: float = 0.0
    start_ticks: int = 0
    failures: int = 0
    restarts: int = 0
    due: float | None = field(default=None)

    def start(self) -> None:
        self.popen = spawn(self.spec)
        self.began, self.started, self.due = time.monotonic(), time.time(), None
        process = find_process(self.popen.pid)
        self.start_ticks = process.start_ticks if process else 0

    def reap(self) -> int | None:
        """Return the exit code when the process has just ended, having planned its next start."""
        if self.popen is None or self.popen.poll() is None:
            return None
        code = self.popen.returncode
        self.signal_group(signal.SIGKILL)
        self.popen = None
        if time.monotonic() - self.began >= STEADY_SECONDS:
            self.failures = 0
        self.put_off()
        return code

    def put_off(self) -> None:
        """Plan the next start, later after every failure in a row."""
        self.due = time.monotonic() + back_off(self.failures)
        self.failures += 1

    def signal_group(self, number: signal.Signals) -> None:
        """Reach what the process started too, such as the pool of a worker."""
        if self.popen is None:
            return
        try:
            os.killpg(self.popen.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def ask_to_stop(self) -> None:
        if self.popen is not None and self.popen.poll() is None:
            self.popen.send_signal(self.spec.stop_signal)

    def has_ended(self) -> bool:
        return self.popen is None or self.popen.poll() is not None

    def record(self) -> ProcessRecord:
        pid = 0 if self.popen is None else self.popen.pid
        return ProcessRecord(self.spec.name, pid, self.start_ticks, self.started, self.restarts)
