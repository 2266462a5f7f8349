"""One process, two TLS listeners, one end."""

from __future__ import annotations

import asyncio
import signal
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import structlog
import uvicorn
from django.utils import timezone

from infra.agents.enrolling import Enrolling
from infra.agents.exchange import Exchange
from infra.agents.tls import (
    PeerHttpProtocol,
    PeerWebSocketProtocol,
    enrolment_context,
    exchange_context,
    load_server_certificate,
)
from infra.authority import Authority
from infra.http import Application
from infra.listening import Listener
from operations.outbox import NODES_CHANNEL

KEEP_ALIVE_SECONDS = 75
"""Longer than the longest poll, so that an agent's connection outlives a quiet wait."""

SHUTDOWN_SECONDS = 5
CERTIFICATE_LOOK_SECONDS = 3600.0
_log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    """A server that leaves signals to the process that runs two of them."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listen(bind: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes any free one."""
    family = socket.AF_INET6 if ":" in bind else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((bind, port))
    except OSError:
        listening.close()
        raise
    return listening


def edge_url(address: str, port: int) -> str:
    """Return the URL agents dial."""
    return f"https://[{address}]:{port}" if ":" in address else f"https://{address}:{port}"


class Edge:
    """The agent edge, from its start until it is asked to stop."""

    def __init__(
        self,
        exchange: Exchange,
        enrolling: Enrolling,
        *,
        sockets: tuple[socket.socket, socket.socket],
        dialled_as: str,
    ) -> None:
        self._exchange = exchange
        self._authority: Authority = exchange.authority
        self._dialled_as = dialled_as
        self._sockets = sockets
        self._contexts = (exchange_context(self._authority), enrolment_context(self._authority))
        self._servers = (
            _server(exchange, self._contexts[0], websockets=True),
            _server(enrolling, self._contexts[1], websockets=False),
        )

    @property
    def started(self) -> bool:
        return all(server.started for server in self._servers)

    def stop(self) -> None:
        """Answer the live polls, close the listeners, end `run`."""
        self._exchange.wakes.stop()
        for server in self._servers:
            server.should_exit = True

    async def run(self) -> None:
        """Serve until `stop`. Raises what made a listener end by itself."""
        wakes = self._exchange.wakes
        listener = Listener([NODES_CHANNEL], heard=wakes.heard, missed=wakes.wake_all)
        companions = [
            asyncio.create_task(listener.run()),
            asyncio.create_task(self._keep_certificate()),
        ]
        try:
            async with asyncio.TaskGroup() as group:
                for server, listening in zip(self._servers, self._sockets, strict=True):
                    group.create_task(self._serve(server, listening))
        finally:
            for companion in companions:
                companion.cancel()
                with suppress(asyncio.CancelledError):
                    await companion
            self._exchange.threads.close()

    async def _serve(self, server: _Server, listening: socket.socket) -> None:
        await server.serve(sockets=[listening])
        self.stop()  # neither listener stays without the other

    async def _keep_certificate(self) -> None:
        while True:
            await asyncio.sleep(CERTIFICATE_LOOK_SECONDS)
            try:
                self._authority.ensure_server_certificate(self._dialled_as, now=timezone.now())
                # Loaded even when another process made it: all edges share the files.
                for context in self._contexts:
                    load_server_certificate(context, self._authority)
            except (OSError, ValueError):
                _log.exception("server_certificate_not_renewed")


def _server(application: Application, context: ssl.SSLContext, *, websockets: bool) -> _Server:
    config = uvicorn.Config(
        application,
        http=PeerHttpProtocol,
        ws=PeerWebSocketProtocol if websockets else "none",
        ssl_context_factory=lambda _config, _default: context,
        proxy_headers=False,
        server_header=False,
        access_log=False,
        lifespan="off",
        log_config=None,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        ws_max_size=256 * 1024,
        ws_per_message_deflate=False,
    )
    return _Server(config)


def stop_on_signals(edge: Edge) -> None:
    """Let SIGTERM and SIGINT end the edge cleanly."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, edge.stop)
