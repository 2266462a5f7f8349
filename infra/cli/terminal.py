"""The person's terminal: made raw for a while, and given back as it was whatever happens."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Iterator
from contextlib import contextmanager

_AS_BEFORE = b"\x1b[m\x1b[?25h\x1b[?7h\r\n"
"""Plain colours, a cursor that shows, lines that wrap, and a new one: guests leave them changed."""


@contextmanager
def raw_terminal() -> Iterator[bool]:
    """Pass every key on as it is until the block ends; yields whether there is a terminal."""
    keys = sys.stdin.fileno()
    if not os.isatty(keys):
        yield False
        return
    before = termios.tcgetattr(keys)
    try:
        tty.setraw(keys)
        yield True
    finally:
        # Keys typed towards a console that is gone are not meant for the shell: they are dropped.
        termios.tcsetattr(keys, termios.TCSAFLUSH, before)
        if sys.stdout.isatty():
            write_all(sys.stdout.fileno(), _AS_BEFORE)


def write_all(handle: int, data: bytes) -> None:
    """Write all of the bytes, however many the terminal takes at a time."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]
