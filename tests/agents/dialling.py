"""The agent's end of a console in tests: an asynchronous client behind plain calls.

The library's own blocking client can wait for ever over TLS 1.3: a session ticket makes the socket
readable, and the read that follows blocks before the opening request has been written.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Coroutine
from typing import Self, TypeVar

from websockets.asyncio.client import ClientConnection, connect

T = TypeVar("T")


class Dialled:
    """One WebSocket over TLS. Every call ends within its time limit."""

    def __init__(self, url: str, context: ssl.SSLContext) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._connection: ClientConnection | None = None
        try:
            self._connection = self._run(self._connect(url, context), 15)
        except BaseException:
            self._stop()
            raise

    async def _connect(self, url: str, context: ssl.SSLContext) -> ClientConnection:
        return await connect(url, ssl=context, compression=None, proxy=None)

    def _run(self, work: Coroutine[None, None, T], seconds: float) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(seconds)

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    @property
    def _open(self) -> ClientConnection:
        assert self._connection is not None
        return self._connection

    def send(self, data: bytes) -> None:
        self._run(self._open.send(data), 30)

    def recv(self, timeout: float) -> bytes | str:
        return self._run(self._open.recv(), timeout)

    def close(self, reason: str = "") -> None:
        self._run(self._open.close(reason=reason), 15)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._stop()
