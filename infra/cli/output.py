"""Where words go: data to standard output, everything else to standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO

from infra.cli.failures import Failure, failure_text
from infra.cli.tables import Table, plain_lines, rich_table
from infra.cli.words import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live


class Output:
    """The two streams of the command, with colours only where a person reads them."""

    def __init__(self, stdout: TextIO, stderr: TextIO, environment: Mapping[str, str]) -> None:
        self._stdout = stdout
        self._stderr = stderr
        self._plain = "NO_COLOR" in environment or environment.get("TERM") == "dumb"

    @property
    def is_terminal(self) -> bool:
        return self._stdout.isatty()

    @property
    def asks(self) -> bool:
        """Return whether there is a person to ask."""
        return sys.stdin.isatty() and self._stderr.isatty()

    def data(self, text: str) -> None:
        """Write a line of data."""
        self._stdout.write(text + "\n")
        self._stdout.flush()

    def say(self, text: str) -> None:
        """Write a line for the person who waits."""
        self._stderr.write("\n".join(plain(line) for line in text.split("\n")) + "\n")
        self._stderr.flush()

    def ask(self, question: str) -> str:
        """Return what the person answers, "" at the end of the input."""
        self._stderr.write(plain(question))
        self._stderr.flush()
        return sys.stdin.readline().rstrip("\r\n")

    def fail(self, failure: Failure) -> None:
        """Write what happened, what is still safe and what to do next."""
        self.say(failure_text(failure))

    def table(self, table: Table) -> None:
        """Write a table: shaped to a terminal's width, or unbroken lines for other programs."""
        if self.is_terminal:
            self._console(self._stdout).print(rich_table(table))
        else:
            for line in plain_lines(table):
                self.data(line)

    def heading(self, text: str) -> None:
        """Write a heading of a longer text."""
        if self.is_terminal:
            self._console(self._stdout).print(plain(text), style="bold", markup=False)
        else:
            self.data(plain(text))

    @contextmanager
    def living(self) -> Iterator[Live]:
        """Keep one place of the terminal up to date."""
        from rich.live import Live  # noqa: PLC0415  only where a terminal is

        with Live(console=self._console(self._stdout), auto_refresh=False) as live:
            yield live

    @contextmanager
    def progress(self) -> Iterator[Callable[[str], None]]:
        """Yield what shows how far things are: one living line, or a line for each change."""
        if not self._stderr.isatty():
            yield _on_change(self.say)
            return
        with self._console(self._stderr).status("") as status:
            yield lambda text: status.update(plain(text).replace("[", "\\["))

    def _console(self, stream: TextIO) -> Console:
        from rich.console import Console  # noqa: PLC0415  only where a terminal is

        return Console(file=stream, color_system=None if self._plain else "auto", highlight=False)


def _on_change(say: Callable[[str], None]) -> Callable[[str], None]:
    last = ""

    def show(text: str) -> None:
        nonlocal last
        if text != last:
            last = text
            say(text)

    return show
