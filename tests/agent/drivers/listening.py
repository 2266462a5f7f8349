"""Listening to a console in a test, without ever waiting on it for good."""

from __future__ import annotations

import queue
import threading
from time import monotonic

from agent.drivers.base import SerialConsole

SECONDS = 60.0


def read_until(console: SerialConsole, words: bytes, *, seconds: float = SECONDS) -> bytes:
    """Return what the console says up to the words; fails when it ends or time passes before."""
    chunks: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        heard = b""
        while words not in heard and (data := console.read()):
            heard += data
            chunks.put(data)
        chunks.put(b"")

    threading.Thread(target=read, daemon=True).start()
    heard, deadline = b"", monotonic() + seconds
    while words not in heard:
        data = chunks.get(timeout=max(0.0, deadline - monotonic()))
        assert data, f"the console ended after {heard!r}"
        heard += data
    return heard


def watch_end(console: SerialConsole) -> threading.Event:
    """Return what is set once the console has closed."""
    ended = threading.Event()

    def read() -> None:
        while console.read():
            pass
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    return ended
