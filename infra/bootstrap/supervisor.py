"""Keeps the processes of an installation running, and ends them in order.

One thread, and one place where it waits: `turn`. Signals are blocked and taken from there, so
nothing happens between two lines of the code below.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from infra.bootstrap.children import Child, ProcessSpec, open_signals
from infra.bootstrap.places import Places
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import Record, write_record
from infra.bootstrap.refusals import CannotContinue, StopRequested

STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WATCHED = (signal.SIGCHLD, *STOP_SIGNALS)

LOOK_AGAIN_SECONDS = 0.1
"""How long to wait between two looks at a condition that no signal announces."""

IDLE_SECONDS = 5.0

RUN_STOP_SECONDS = 15.0


class Supervisor:
    """The processes of one installation."""

    def __init__(self, places: Places, *, port: int, progress: Progress) -> None:
        self._places = places
        self._port = port
        self._progress = progress
        self._children: list[Child] = []
        self._ready = False
        self._stopping = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Take signals in `turn` only, and stop everything on the way out."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, WATCHED)
        try:
            yield
        finally:
            try:
                self._stop()
            finally:
                while signal.sigtimedwait(WATCHED, 0) is not None:
                    continue
                signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def start(self, spec: ProcessSpec) -> Child:
        """Start a process and keep it running from now on. Raises CannotContinue."""
        child = Child(spec)
        try:
            child.start()
        except OSError as error:
            raise CannotContinue(f"{spec.title} cannot be started: {error}") from error
        self._children.append(child)
        self._write()
        return child

    def wait_ready(self, child: Child) -> None:
        """Return when the process answers. Raises CannotContinue with the end of its log."""
        deadline = time.monotonic() + child.spec.ready_seconds
        while not (child.popen is not None and child.spec.is_ready()):
            if child.restarts or time.monotonic() > deadline:
                raise CannotContinue(not_ready(child.spec))
            self.turn(LOOK_AGAIN_SECONDS)

    def wait_until(
        self,
        condition: Callable[[], bool],
        *,
        seconds: float,
        every: float = LOOK_AGAIN_SECONDS,
    ) -> bool:
        """Return whether the condition came true in time; it is asked again `every` so often."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            self.turn(every)
        return True

    def run(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        said: Path | None = None,
        errors: Path | None = None,
    ) -> int:
        """Run a program to its end, its words in the file `said` or on the terminal.

        Its errors go to the same place unless `errors` names another file. Returns its exit
        code. On a request to stop it is ended too, and StopRequested goes on.
        """
        with ExitStack() as stack:
            out = None if said is None else stack.enter_context(said.open("wb"))
            apart = subprocess.STDOUT if errors is None else stack.enter_context(errors.open("wb"))
            popen = subprocess.Popen(
                argv,
                stdin=None if said is None else subprocess.DEVNULL,
                stdout=out,
                stderr=None if said is None else apart,
                env=env,
                cwd=cwd,
                start_new_session=said is not None,
                preexec_fn=open_signals,  # noqa: PLW1509 - the supervisor has one thread
            )
            try:
                while popen.poll() is None:
                    self.turn(self._seconds_to_next_start())
            except StopRequested as request:
                # Ctrl-C reaches a program on the same terminal by itself.
                if said is not None or str(request) != "SIGINT":
                    popen.terminate()
                end_within(popen, RUN_STOP_SECONDS)
                raise
        return popen.returncode

    def serve(self) -> None:
        """Keep everything running until a request to stop, which ends as StopRequested."""
        self._ready = True
        self._write()
        while True:
            self.turn(self._seconds_to_next_start())

    def turn(self, seconds: float) -> None:
        """Wait at most so long for something to happen, and deal with it.

        Raises StopRequested when a signal asks to stop.
        """
        taken = signal.sigtimedwait(WATCHED, seconds)
        self._reap()
        self._start_due()
        if taken is not None and taken.si_signo in STOP_SIGNALS and not self._stopping:
            raise StopRequested(signal.Signals(taken.si_signo).name)

    def _reap(self) -> None:
        for child in self._children:
            code = child.reap()
            if code is not None and not self._stopping:
                wait = (child.due or 0.0) - time.monotonic()
                self._progress.say(
                    f"{child.spec.title} ended ({ending(code)}); starting it again in {wait:.1f} s"
                )
                self._write()

    def _start_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.due is not None and child.due <= now and not self._stopping:
                child.restarts += 1
                try:
                    child.start()
                except OSError as error:
                    child.put_off()
                    self._progress.say(f"{child.spec.title} cannot be started: {error}")
                self._write()

    def _seconds_to_next_start(self) -> float:
        now = time.monotonic()
        dues = [child.due - now for child in self._children if child.due is not None]
        return max(0.0, min([IDLE_SECONDS, *dues]))

    def _stop(self) -> None:
        self._stopping = True
        self._ready = False
        for tier in sorted({child.spec.tier for child in self._children}, reverse=True):
            self._stop_tier([child for child in self._children if child.spec.tier == tier])
        self._children = []
        self._places.record.unlink(missing_ok=True)

    def _stop_tier(self, children: Sequence[Child]) -> None:
        for child in children:
            child.ask_to_stop()
        seconds = max(child.spec.stop_seconds for child in children)
        if not self.wait_until(lambda: all(c.has_ended() for c in children), seconds=seconds):
            late = [child for child in children if not child.has_ended()]
            for child in late:
                self._progress.say(f"{child.spec.title} did not stop; ending it by force")
                child.signal_group(child.spec.last_signal)
            self.wait_until(lambda: all(child.has_ended() for child in late), seconds=seconds)

    def _write(self) -> None:
        processes = tuple(child.record() for child in self._children)
        write_record(self._places, Record(os.getpid(), self._port, self._ready, processes))


def end_within(popen: subprocess.Popen[bytes], seconds: float) -> None:
    """Wait for a program that was asked to end; kill it when it does not in time."""
    try:
        popen.wait(seconds)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait()


def ending(code: int) -> str:
    """Return how a process ended, for people (pure)."""
    return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def log_tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log; empty when there is none."""
    try:
        text = log.read_bytes()[-20000:].decode(errors="replace")
    except FileNotFoundError:
        return ""
    return "\n".join(text.strip().splitlines()[-lines:])


def not_ready(spec: ProcessSpec) -> str:
    """Return why the start ends here, with the end of the process's log."""
    return f"{spec.title} did not become ready. The end of {spec.log}:\n{log_tail(spec.log)}"
