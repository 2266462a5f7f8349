"""A guest's serial console over libvirt: no second listener, no port, no path to a device."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from time import monotonic

import libvirt

from agent.drivers.base import OutcomeUnknown

CHUNK_BYTES = 4096
BACKLOG_BYTES = 2**20
"""A reader that is further behind than this loses what is oldest, as on a real terminal."""

WRITE_SECONDS = 10.0
PAUSE_SECONDS = 0.02
WOULD_BLOCK = -2
_HEARD = libvirt.VIR_STREAM_EVENT_READABLE
_ENDED = libvirt.VIR_STREAM_EVENT_ERROR | libvirt.VIR_STREAM_EVENT_HANGUP


class LibvirtConsole:
    """An open console. The newest one takes it over from whoever had it before."""

    def __init__(self, connection: libvirt.virConnect, stream: libvirt.virStream) -> None:
        self.connection = connection
        self._stream = stream
        self._changed = threading.Condition()
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._closed = False
        stream.eventAddCallback(_HEARD | _ENDED, self._heard, None)

    def read(self) -> bytes:
        """Return what the guest wrote, waiting for it; b"" once the console has closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._closed)
            data = b"".join(self._waiting)
            self._waiting.clear()
            self._bytes = 0
            return data

    def write(self, data: bytes) -> None:
        """Send all of it. Raises `OutcomeUnknown` if the guest takes nothing for a while."""
        deadline = monotonic() + WRITE_SECONDS
        while data and not self._closed:
            try:
                sent = self._stream.send(data)
            except libvirt.libvirtError:
                self._end()
                return
            if sent == WOULD_BLOCK:
                if monotonic() > deadline:
                    raise OutcomeUnknown("console.stuck", "The guest does not take any input.")
                threading.Event().wait(PAUSE_SECONDS)
                continue
            data = data[sent:]

    def close(self) -> None:
        """Let the console go; a reader that waits gets b""."""
        if self._end():
            # Ending a stream asks libvirtd, which may hang: nobody waits for that.
            threading.Thread(target=self._abort, name="libvirt-console-end", daemon=True).start()

    def lose(self) -> None:
        """End it for the reader: its connection is lost."""
        self._end()

    def _heard(self, stream: libvirt.virStream, events: int, _opaque: None) -> None:
        if events & _HEARD:
            self._take(stream)
        if events & _ENDED:
            self._end()

    def _take(self, stream: libvirt.virStream) -> None:
        while True:
            try:
                data = stream.recv(CHUNK_BYTES)
            except libvirt.libvirtError:
                self._end()
                return
            if data == WOULD_BLOCK:
                return
            if not data:
                self._end()
                return
            self._keep(data)

    def _keep(self, data: bytes) -> None:
        with self._changed:
            self._waiting.append(data)
            self._bytes += len(data)
            while self._bytes > BACKLOG_BYTES:
                self._bytes -= len(self._waiting.popleft())
            self._changed.notify_all()

    def _end(self) -> bool:
        """Mark the console as closed. Return whether it was open."""
        with self._changed:
            was_open, self._closed = not self._closed, True
            self._changed.notify_all()
        return was_open

    def _abort(self) -> None:
        with contextlib.suppress(libvirt.libvirtError):
            self._stream.eventRemoveCallback()
        with contextlib.suppress(libvirt.libvirtError):
            self._stream.abort()
