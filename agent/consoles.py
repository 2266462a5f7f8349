"""Serial consoles: dialled when somebody wants one, bytes passed both ways until either end closes.

Slow readers slow the guest's console down, never the agent: nothing is kept here but the piece
that is on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import structlog
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from agent.drivers.base import DriverError, Hypervisor, SerialConsole
from agent.identity import Identity
from agent.protocol.messages import CONSOLE_PATH, ConsoleOrder

LIMIT = 16
"""Consoles at once. Each holds a thread that waits for the guest to say something."""

PIECE_BYTES = 64 * 1024
OPEN_SECONDS = 10.0
CLOSE_SECONDS = 3.0
NORMAL, NOT_TO_BE_HAD = 1000, 4409
"""WebSocket close codes; the private one mirrors an HTTP status."""

REASON_BYTES = 120
_log = structlog.get_logger(__name__)


class Consoles:
    """Opens consoles until closed. Called from one event loop."""

    def __init__(self, hypervisor: Hypervisor, identity: Callable[[], Identity]) -> None:
        self._hypervisor = hypervisor
        self._identity = identity
        # Two threads each: writes must not wait for reads, and reads wait for guests.
        self._threads = ThreadPoolExecutor(LIMIT * 2, thread_name_prefix="console")
        self._tasks: set[asyncio.Task[None]] = set()

    def open(self, order: ConsoleOrder) -> None:
        """Dial the console. Beyond the limit it is not dialled, and its session runs out."""
        if len(self._tasks) >= LIMIT:
            _log.warning("console_dropped", session=str(order.session_id), limit=LIMIT)
            return
        task = asyncio.create_task(self._serve(order))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End all consoles."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _serve(self, order: ConsoleOrder) -> None:
        try:
            async with self._dial(order) as socket:
                await self._bridge(order, socket)
        except (OSError, TimeoutError, WebSocketException) as error:
            _log.warning("console_failed", session=str(order.session_id), error=str(error))

    def _dial(self, order: ConsoleOrder) -> connect:
        identity = self._identity()
        path = CONSOLE_PATH.format(session_id=order.session_id)
        return connect(
            identity.about.edge_url.replace("https://", "wss://", 1) + path,
            ssl=identity.context(),
            compression=None,
            proxy=None,
            max_size=PIECE_BYTES * 4,
            max_queue=4,
            open_timeout=OPEN_SECONDS,
            close_timeout=CLOSE_SECONDS,
        )

    async def _bridge(self, order: ConsoleOrder, socket: ClientConnection) -> None:
        runner = asyncio.get_running_loop()
        try:
            console = await runner.run_in_executor(
                self._threads, self._hypervisor.open_console, order.resource_id
            )
        except DriverError as error:
            await socket.close(NOT_TO_BE_HAD, _short(str(error)))
            return
        passing = {
            asyncio.create_task(self._up(console, socket)),
            asyncio.create_task(self._down(console, socket)),
        }
        try:
            await asyncio.wait(passing, return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Closing ends a read that waits in its thread; cancelling alone would not.
            await asyncio.shield(runner.run_in_executor(self._threads, console.close))
            for task in passing:
                task.cancel()
            await asyncio.gather(*passing, return_exceptions=True)
        await socket.close(NORMAL, "The console ended.")

    async def _up(self, console: SerialConsole, socket: ClientConnection) -> None:
        runner = asyncio.get_running_loop()
        while data := await runner.run_in_executor(self._threads, console.read):
            for start in range(0, len(data), PIECE_BYTES):
                await socket.send(data[start : start + PIECE_BYTES])

    async def _down(self, console: SerialConsole, socket: ClientConnection) -> None:
        runner = asyncio.get_running_loop()
        try:
            async for message in socket:
                if isinstance(message, bytes):
                    await runner.run_in_executor(self._threads, console.write, message)
        except ConnectionClosed:
            return


def _short(reason: str) -> str:
    """Return the reason within what a close frame has room for."""
    return reason.encode()[:REASON_BYTES].decode(errors="ignore")
