"""The `infra` command as people run it: in this process, in one of its own, at a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import pty
import select
import shlex
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import pytest

from infra.cli.main import app
from tests.waiting import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "infra.cli.main"]
PATIENCE = 30.0


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@dataclass(frozen=True)
class Infra:
    """Runs the command with an environment of its own, so that nothing of the machine shows."""

    home: Path
    told: Mapping[str, str]

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "INFRA_DATA_DIR": str(self.home / "none"),
            "PYTHONPATH": str(CHECKOUT),
            "LANG": "C.UTF-8",
            **self.told,
        }

    def __call__(self, *words: str, text: str = "", **told: str) -> Ran:
        """Run it in this process, which saves the start of Python."""
        out, err = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch:
            for name in [name for name in os.environ if name.startswith("INFRA_")]:
                patch.delenv(name)
            for name, value in {**self.environment, **told}.items():
                patch.setenv(name, value)
            patch.chdir(self.home)
            patch.setattr(sys, "stdin", io.StringIO(text))
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                try:
                    app(list(words), prog_name="infra")
                except SystemExit as end:
                    return Ran(int(end.code or 0), out.getvalue(), err.getvalue())
        raise AssertionError("the command did not end itself")

    def alone(self, *words: str, text: str = "", **told: str) -> Ran:
        """Run it in a process of its own."""
        done = subprocess.run(
            [*COMMAND, *words],
            input=text,
            env={**self.environment, **told},
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def shown(self, *words: str) -> str:
        """Return the command as a shell takes it."""
        return shlex.join([*COMMAND, *words])

    def in_shell(self, script: str) -> Ran:
        """Run a line of shell in which the command stands."""
        done = subprocess.run(
            ["sh", "-c", script],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, **told: str) -> Going:
        return Going(
            subprocess.Popen(
                [*COMMAND, *words],
                env={**self.environment, **told},
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )

    def at_terminal(self, *words: str, **told: str) -> Terminal:
        return Terminal([*COMMAND, *words], {**self.environment, "TERM": "xterm-256color", **told})


class Going:
    """A process that goes on, and the lines it has written so far."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.out: list[str] = []
        self.err: list[str] = []
        pairs = ((process.stdout, self.out), (process.stderr, self.err))
        self._readers = [
            threading.Thread(target=lines.extend, args=(stream,), daemon=True)
            for stream, lines in pairs
        ]

    def __enter__(self) -> Self:
        for reader in self._readers:
            reader.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join(5)

    def wait_for(self, wanted: str, *, said: bool = False) -> None:
        """Wait for a line with these words in its data, or in what is said beside it."""
        lines = self.err if said else self.out
        wait_until(
            lambda: any(wanted in line for line in list(lines)), seconds=PATIENCE, what=wanted
        )


class Terminal:
    """A process at a pseudo-terminal: what it shows, what is typed, and how the terminal is."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.screen = b""
        self._ours, self._theirs = pty.openpty()
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 160, 0, 0))
        self.at_first = termios.tcgetattr(self._theirs)
        self.process = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            start_new_session=True,
            preexec_fn=self._own,  # noqa: PLW1509  one call; else Ctrl-C reaches nobody
        )

    def _own(self) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSCTTY, 0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)
        os.close(self._theirs)

    @property
    def settings(self) -> list[object]:
        return termios.tcgetattr(self._theirs)

    def type(self, keys: bytes) -> None:
        os.write(self._ours, keys)

    def wait_for(self, wanted: bytes) -> None:
        deadline = time.monotonic() + PATIENCE
        while wanted not in self.screen:
            if not self._read(0.1) and self.process.poll() is not None and not self._read(0.1):
                raise AssertionError(f"ended without {wanted!r}: {self.screen!r}")
            if time.monotonic() > deadline:
                raise AssertionError(f"no {wanted!r} in {self.screen!r}")

    def wait(self) -> int:
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None and time.monotonic() < deadline:
            self._read(0.1)
        while self._read(0.0):
            pass
        return self.process.wait(timeout=1)

    def _read(self, seconds: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], seconds)
        if not ready:
            return False
        with contextlib.suppress(OSError):
            self.screen += os.read(self._ours, 65536)
        return True
