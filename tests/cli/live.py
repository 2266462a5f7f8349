"""The real API over a real socket, with a worker and a node that really answer, in threads."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from typing import Self

import uvicorn
from django.core.handlers.asgi import ASGIHandler
from django.db import connection
from django.utils import timezone

from infra import web
from operations.executor import advance
from operations.models import Operation
from tests.operations.fleet import WireNode
from tests.waiting import wait_until


class Web:
    """The web process, in a thread."""

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        # Made anew for each loop: its connection to Redis belongs to the one it is first used in.
        application = web.Web(ASGIHandler())
        config = uvicorn.Config(
            application, lifespan="off", log_config=None, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server._serve([self._socket])), daemon=True
        )
        self.port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started, what="the web server")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(15)
        self._socket.close()
        assert not self._thread.is_alive()


class Fleet:
    """A worker and nodes that carry out what is due, until told to pause."""

    def __init__(self, nodes: Callable[[], list[WireNode]]) -> None:
        self._nodes = nodes
        self._ended = threading.Event()
        self._going = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._going.set()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._going.set()
        self._thread.join(15)

    def pause(self) -> None:
        """Carry out nothing more, as if the node were away."""
        self._going.clear()

    def resume(self) -> None:
        self._going.set()

    def _run(self) -> None:
        try:
            while not self._ended.wait(0.02):
                self._going.wait()
                self._turn()
        finally:
            connection.close()

    def _turn(self) -> None:
        now = timezone.now()
        for key in Operation.objects.filter(finished_at__isnull=True).values_list("pk", flat=True):
            advance(key, now=now)
        for node in self._nodes():
            answer = node.poll(now)
            for order in answer.orders if answer else ():
                node.finish(now, order)
