"""The node's end of a serial console: the agent dials in, bytes go to whoever waits for them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

import structlog
from django.utils import timezone

from agent.protocol.messages import CONSOLE_PATH, ConsoleOrder
from infra.agents.answers import Refused
from infra.agents.tls import fingerprint_of
from infra.agents.waking import NodeWakes
from infra.database_threads import DatabaseThreads
from infra.http import Receive, Scope, Send, text_of
from infra.relay import (
    BEAT_SECONDS,
    SILENCE_SECONDS,
    WINDOW_BYTES,
    Frame,
    Letter,
    Relay,
    RelayLost,
    Session,
    Subscription,
    decode,
    pending_consoles,
)
from infra.together import until_first_ends
from inventory.errors import InfraError
from operations import enrolment

CONSOLE_PREFIX = CONSOLE_PATH.partition("{")[0]
NORMAL, REFUSED, LOST = 1000, 4403, 4503
"""WebSocket close codes; the private range mirrors the HTTP statuses."""

RECHECK_SECONDS = 30.0
_log = structlog.get_logger(__name__)


class _Ended(Exception):
    """The console ends, for this reason; `code` is the close code the agent gets."""

    def __init__(self, reason: str, code: int = NORMAL) -> None:
        super().__init__(reason)
        self.code = code


class ConsoleRelay:
    """Serves `/v1/consoles/<session>` and hands out the orders that make agents dial it."""

    def __init__(self, relay: Relay, threads: DatabaseThreads, wakes: NodeWakes) -> None:
        self._relay = relay
        self._threads = threads
        self._wakes = wakes

    async def pending_consoles(self, node_id: UUID) -> tuple[ConsoleOrder, ...]:
        """Return the consoles somebody wants on the node; each order is handed out once."""
        return await pending_consoles(self._relay, node_id)

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Relay one console until either side, the session or the certificate ends."""
        await receive()  # websocket.connect
        try:
            session = await self._session_of(scope)
        except (InfraError, Refused, RelayLost) as error:
            code = LOST if isinstance(error, RelayLost) else REFUSED
            await send({"type": "websocket.close", "code": code, "reason": _short(str(error))})
            return
        await send({"type": "websocket.accept"})
        reason, code = await self._relayed(session, fingerprint_of(scope) or "", receive, send)
        with suppress(RelayLost):
            await self._relay.send(session.up, Frame(Letter.CLOSED, reason.encode()))
        with suppress(RuntimeError, OSError):  # the agent itself may have closed
            await send({"type": "websocket.close", "code": code, "reason": _short(reason)})

    async def _session_of(self, scope: Scope) -> Session:
        fingerprint = fingerprint_of(scope)
        if fingerprint is None:
            raise Refused(403, "certificate.missing", "The connection showed no certificate.")
        node = await self._threads.run(enrolment.authenticate, fingerprint, now=timezone.now())
        raw = text_of(scope, "path").removeprefix(CONSOLE_PREFIX)
        try:
            session = await self._relay.find_session(UUID(raw))
        except ValueError:
            session = None
        if session is None or session.node_id != node.node_id:
            raise Refused(404, "console.unknown", "Nobody waits for this console.")
        if not await self._relay.claim_agent_side(session):
            raise Refused(409, "console.taken", "This console has been dialled already.")
        return session

    async def _relayed(
        self, session: Session, fingerprint: str, receive: Receive, send: Send
    ) -> tuple[str, int]:
        try:
            async with self._relay.subscribe(session.down) as coming:
                await self._relay.send(session.up, Frame(Letter.OPENED))
                window = Window(WINDOW_BYTES)
                work: list[Callable[[], Awaitable[None]]] = [
                    partial(self._up, session, receive, window),
                    partial(_down, coming, send, window),
                    partial(self._beat, session),
                    partial(self._keep_checking, session.node_id, fingerprint),
                ]
                await until_first_ends(work)
        except _Ended as ended:
            return str(ended), ended.code
        except RelayLost as lost:
            return str(lost), LOST
        return "The console ended.", NORMAL

    async def _up(self, session: Session, receive: Receive, window: Window) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                reason = message.get("reason")
                raise _Ended(str(reason) if reason else "The node closed the console.")
            payload = message.get("bytes")
            if isinstance(payload, bytes) and payload:
                await window.take(len(payload))
                await self._relay.send(session.up, Frame(Letter.DATA, payload))

    async def _beat(self, session: Session) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self._relay.send(session.up, Frame(Letter.BEAT))

    async def _keep_checking(self, node_id: UUID, fingerprint: str) -> None:
        with self._wakes.watch(node_id) as waiter:
            while not self._wakes.stopping:
                await waiter.woken(within=RECHECK_SECONDS)
                try:
                    await self._threads.run(enrolment.authenticate, fingerprint, now=timezone.now())
                except InfraError as error:
                    raise _Ended(str(error), REFUSED) from error
        raise _Ended("The agent edge is stopping; open the console again.", LOST)


class Window:
    """How many bytes may be on their way to the person; `take` waits for room."""

    def __init__(self, size: int) -> None:
        self._free = size
        self._changed = asyncio.Event()

    async def take(self, count: int) -> None:
        """Take `count` bytes, once there is any room; one message may overdraw it."""
        while self._free <= 0:
            self._changed.clear()
            await self._changed.wait()
        self._free -= count

    def give_back(self, count: int) -> None:
        self._free += count
        self._changed.set()


async def _down(coming: Subscription, send: Send, window: Window) -> None:
    while True:
        message = await coming.next(within=SILENCE_SECONDS)
        if message is None:
            raise _Ended("Whoever opened the console is gone.")
        frame = decode(message[1])
        if frame.letter is Letter.DATA:
            await send({"type": "websocket.send", "bytes": frame.payload})
        elif frame.letter is Letter.PASSED_ON:
            window.give_back(int(frame.payload))
        elif frame.letter is Letter.CLOSED:
            raise _Ended(frame.text)


def _short(reason: str) -> str:
    """Return the reason within the 123 bytes a close frame has for it."""
    return reason.encode()[:123].decode(errors="ignore")
