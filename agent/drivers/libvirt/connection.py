"""The connection to libvirt: opened anew when it broke, and never waited on without end.

Every piece of work runs in a thread of its own, so that a libvirtd that hangs costs the agent a
bounded wait and not its life. What was given up on may still act: its outcome is unknown.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import libvirt

from agent.drivers.base import OutcomeUnknown
from agent.drivers.libvirt.errors import is_connection_lost, sort_error

T = TypeVar("T")

CALL_SECONDS = 20.0
KEEPALIVE_SECONDS = 5
KEEPALIVE_COUNT = 3
ABANDONED_LIMIT = 16

_loop_started = threading.Lock()


class _Work(Generic[T]):
    """A call in a thread of its own, and what came of it."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._result: list[T] = []
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._run, name="libvirt-call", daemon=True)
        self.thread.start()

    def _run(self) -> None:
        try:
            self._result.append(self._work())
        except BaseException as error:  # noqa: BLE001  raised again in the thread that waits
            self._error = error

    def result(self) -> T:
        if self._error is not None:
            raise self._error
        return self._result[0]


class GivenUp(Exception):
    """Ends a piece of work that nobody waits for any more."""


class Turn:
    """One piece of work at libvirt. `mark` goes before every change."""

    def __init__(self, connection: libvirt.virConnect) -> None:
        self.connection = connection
        self._given_up = threading.Event()

    def mark(self) -> None:
        """Raise `GivenUp` if the wait is over: what was wanted then may be wrong by now."""
        if self._given_up.is_set():
            raise GivenUp

    def give_up(self) -> None:
        self._given_up.set()


class Connection:
    """One libvirt, by its address. Safe to use from many threads."""

    def __init__(self, uri: str, *, call_seconds: float = CALL_SECONDS) -> None:
        self.uri = uri
        self._call_seconds = call_seconds
        self._open: libvirt.virConnect | None = None
        self._wakers: list[Callable[[], None]] = []
        self._mourners: list[Callable[[libvirt.virConnect], None]] = []
        self._abandoned: list[threading.Thread] = []
        self._closed = False
        run_event_loop()

    def call(self, work: Callable[[Turn], T], *, seconds: float | None = None) -> T:
        """Return what `work` returns; it may take `seconds` (the connection's limit when None).

        Opening the connection may take the connection's limit at most.

        Raises `Refused` or `OutcomeUnknown`, and lets through what `work` raises by itself.
        """
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= ABANDONED_LIMIT:
            raise OutcomeUnknown("libvirt.hung", "libvirt does not answer; calls are piling up.")
        limit = self._call_seconds if seconds is None else seconds
        late, opened = threading.Event(), threading.Event()
        turns: list[Turn] = []

        def run() -> T:
            try:
                turns.append(Turn(self._obtain()))
            finally:
                opened.set()
            if late.is_set():
                raise GivenUp
            return work(turns[0])

        running = _Work(run)
        running.thread.join(limit if opened.wait(min(limit, self._call_seconds)) else 0)
        if running.thread.is_alive():
            late.set()
            self._abandoned.append(running.thread)
            self._give_up(turns)
            raise OutcomeUnknown("libvirt.hung", "libvirt has not answered in time.")
        try:
            return running.result()
        except libvirt.libvirtError as error:
            if is_connection_lost(error):
                self._give_up(turns)
            raise sort_error(error) from error

    def watch(self, wake: Callable[[], None]) -> None:
        """Call `wake` whenever a guest changed or the connection was lost."""
        self._wakers.append(wake)

    def on_loss(self, mourn: Callable[[libvirt.virConnect], None]) -> None:
        """Call `mourn` with a connection that was lost or given up: libvirt tells no stream."""
        self._mourners.append(mourn)

    def close(self) -> None:
        """Let go of the connection; the next call opens it again. Watching ends for good."""
        self._closed = True
        connection, self._open = self._open, None
        if connection is not None:
            self._close(connection).join(self._call_seconds)

    def _obtain(self) -> libvirt.virConnect:
        present = self._open
        if present is not None and present.isAlive():
            return present
        fresh = libvirt.open(self.uri)
        fresh.setKeepAlive(KEEPALIVE_SECONDS, KEEPALIVE_COUNT)
        fresh.registerCloseCallback(self._lost, None)
        fresh.domainEventRegisterAny(
            None, libvirt.VIR_DOMAIN_EVENT_ID_LIFECYCLE, self._changed, None
        )
        # Two threads may come here at once. Neither waits for the other: the other may hang.
        self._open = fresh
        return fresh

    def _give_up(self, turns: list[Turn]) -> None:
        for turn in turns:
            turn.give_up()
            self._mourn(turn.connection)
            self._close(turn.connection)

    def _close(self, connection: libvirt.virConnect) -> threading.Thread:
        """Close it in a thread: closing asks libvirtd, which may be what hangs."""

        def close() -> None:
            with contextlib.suppress(libvirt.libvirtError):
                connection.close()

        return _Work(close).thread

    def _changed(
        self, _c: libvirt.virConnect, _d: libvirt.virDomain, _e: int, _r: int, _o: None
    ) -> None:
        self._wake()

    def _lost(self, connection: libvirt.virConnect, _reason: int, _opaque: None) -> None:
        self._mourn(connection)
        self._wake()

    def _mourn(self, connection: libvirt.virConnect) -> None:
        if self._open is connection:
            self._open = None
        for mourn in tuple(self._mourners):
            mourn(connection)

    def _wake(self) -> None:
        for wake in () if self._closed else tuple(self._wakers):
            wake()


def run_event_loop() -> None:
    """Start libvirt's event loop in this process, once; without it no event and no keepalive."""
    if not _loop_started.acquire(blocking=False):
        return
    libvirt.virEventRegisterDefaultImpl()
    libvirt.registerErrorHandler(lambda *_: None, None)

    def loop() -> None:
        while True:
            with contextlib.suppress(libvirt.libvirtError):
                libvirt.virEventRunDefaultImpl()

    threading.Thread(target=loop, name="libvirt-events", daemon=True).start()
