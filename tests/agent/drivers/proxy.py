"""Stands between a driver and libvirtd, and loses what it is told to lose.

libvirt's wire is a row of packets, each with its length, what it is about, and a serial that an
answer shares with its call.
"""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

_HEADER = struct.Struct(">IIIIIII")
_CALL, _ANSWER = 0, 1


class Procedure(IntEnum):
    """Numbers of libvirt's wire protocol; they never change."""

    CREATE_WITH_FLAGS = 196
    UNDEFINE_FLAGS = 231
    DESTROY_FLAGS = 234
    SHUTDOWN_FLAGS = 258
    DEFINE_XML_FLAGS = 350


class Proxy:
    """Listens on `path` for libvirt's clients and passes them on to `target`."""

    def __init__(self, path: Path, target: Path) -> None:
        self.path = path
        self._target = target
        self._lose: set[Procedure] = set()
        self.lost = 0
        self._links: list[_Link] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(path))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_answer(self, procedure: Procedure) -> None:
        """Cut the connection in place of the next answer to this call."""
        self._lose.add(procedure)

    def close(self) -> None:
        self._listener.close()
        for link in self._links:
            link.cut()

    def wants_lost(self, procedure: int) -> bool:
        return procedure in self._lose

    def count_loss(self, procedure: int) -> None:
        self._lose.discard(Procedure(procedure))
        self.lost += 1

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._target))
                self._links.append(_Link(self, client, server))


class _Link:
    """One connection through the proxy."""

    def __init__(self, proxy: Proxy, client: socket.socket, server: socket.socket) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._doomed: dict[int, int] = {}
        for work in (self._carry_calls, self._carry_answers):
            threading.Thread(target=work, daemon=True).start()

    def cut(self) -> None:
        for end in (self._client, self._server):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def _carry_calls(self) -> None:
        for packet in _packets(self._client):
            _, _, _, procedure, kind, serial, _ = _HEADER.unpack_from(packet)
            if kind == _CALL and self._proxy.wants_lost(procedure):
                self._doomed[serial] = procedure
            self._server.sendall(packet)
        self.cut()

    def _carry_answers(self) -> None:
        for packet in _packets(self._server):
            _, _, _, procedure, kind, serial, _ = _HEADER.unpack_from(packet)
            if kind == _ANSWER and self._doomed.get(serial) == procedure:
                self._proxy.count_loss(procedure)
                break
            self._client.sendall(packet)
        self.cut()


def _packets(source: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while head := source.recv(4, socket.MSG_WAITALL):
            (length,) = struct.unpack(">I", head)
            yield head + source.recv(length - 4, socket.MSG_WAITALL)
