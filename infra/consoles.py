"""The person's end of a serial console, over WebSocket.

Binary messages are the bytes of the serial line, both ways; text from the person is typed text.
Text to the person is a JSON notice, `{"kind": "opening" | "open" | "closed", "message": ...}`; the
last one says why it ended, and so does the close code. One person at a time holds the console of
a droplet: whoever opens it takes it over, and the one before is told by whom.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from django.utils import timezone

from infra.console_doors import Admission, Door, Turned, admit, last_heard
from infra.database_threads import DatabaseThreads
from infra.http import Receive, Scope, Send, start_message
from infra.relay import (
    BEAT_SECONDS,
    SILENCE_SECONDS,
    Frame,
    Letter,
    Relay,
    RelayLost,
    Session,
    Subscription,
    decode,
)
from infra.together import until_first_ends
from operations.outbox import wake_node

ANSWER_SECONDS = 10.0
ORDER_AGAIN_SECONDS = 3.0
"""An order may be lost with the answer that carried it; the agent knows one it has by its id."""

RECHECK_SECONDS = 30.0
"""How long somebody who has lost the right to it may go on using a console."""

INPUT_CHUNK = 32 * 1024
NORMAL, UNAUTHENTICATED, TAKEN_OVER, RELAY_LOST, NO_ANSWER = 1000, 4401, 4409, 4503, 4504
NOT_PLACED = 4425
"""WebSocket close codes; the private range mirrors HTTP statuses."""


class _Ended(Exception):
    """The console is over, for this reason."""

    def __init__(self, reason: str, code: int = NORMAL) -> None:
        super().__init__(reason)
        self.code = code


@dataclass
class Consoles:
    """Serves consoles; `door` says who comes through an address, or turns them away."""

    relay: Relay
    threads: DatabaseThreads

    async def serve(self, door: Door, scope: Scope, receive: Receive, send: Send) -> None:
        """Relay one console from its opening to its end."""
        await receive()  # websocket.connect
        try:
            admission = await self.threads.run(admit, door, now=timezone.now())
        except Turned as turned:
            await _deny(turned, scope, send)
            return
        await send({"type": "websocket.accept"})
        if admission.session is None:
            await _end(send, admission.problem, NOT_PLACED)
            return
        try:
            await self._relayed(door, admission, admission.session, receive, send)
        except _Ended as ended:
            await _end(send, str(ended), ended.code)
        except RelayLost as lost:
            await _end(send, f"{lost} Open the console again.", RELAY_LOST)

    async def _relayed(
        self, door: Door, admission: Admission, session: Session, receive: Receive, send: Send
    ) -> None:
        async with self.relay.subscribe(session.up, session.takeovers) as coming:
            try:
                await self.relay.announce(session.takeovers, f"{session.id} {session.person}")
                work: list[Callable[[], Awaitable[None]]] = [
                    partial(self._down, session, receive),
                    partial(self._up, admission, session, coming, send),
                    partial(self._beat, session),
                    partial(self._recheck, door),
                ]
                await until_first_ends(work)
            finally:
                with suppress(RelayLost):
                    gone = Frame(Letter.CLOSED, b"The person closed the console.")
                    await self.relay.send(session.down, gone)
                    await self.relay.end_session(session)

    async def _wait_for_node(
        self, admission: Admission, session: Session, coming: Subscription
    ) -> None:
        loop = asyncio.get_running_loop()
        ends_at, order_at = loop.time() + ANSWER_SECONDS, loop.time()
        while loop.time() < ends_at:
            if loop.time() >= order_at:
                order_at += ORDER_AGAIN_SECONDS
                await self.relay.open_session(session)
                await self.relay.order(session)
                await self.threads.run(wake_node, session.node_id)
            message = await coming.next(within=max(min(order_at, ends_at) - loop.time(), 0.01))
            if message is None:
                continue
            frame = _frame_of(session, message)
            if frame.letter is Letter.OPENED:
                return
            if frame.letter is Letter.CLOSED:
                raise _Ended(frame.text)
        heard = await self.threads.run(last_heard, session.node_id, now=timezone.now())
        raise _Ended(
            f"Node {admission.node_name} has not opened the console within "
            f"{ANSWER_SECONDS:.0f} s; {heard}. The droplet itself is not touched by this.",
            NO_ANSWER,
        )

    async def _down(self, session: Session, receive: Receive) -> None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                raise _Ended("The person closed the console.")
            data, text = message.get("bytes"), message.get("text")
            typed = data if isinstance(data, bytes) else str(text or "").encode()
            for start in range(0, len(typed), INPUT_CHUNK):
                frame = Frame(Letter.DATA, typed[start : start + INPUT_CHUNK])
                await self.relay.send(session.down, frame)

    async def _up(
        self, admission: Admission, session: Session, coming: Subscription, send: Send
    ) -> None:
        await _notice(send, "opening", f"Asking node {admission.node_name} to open it.")
        await self._wait_for_node(admission, session, coming)
        await _notice(send, "open", f"Console of {admission.name}.")
        while True:
            message = await coming.next(within=SILENCE_SECONDS)
            if message is None:
                raise _Ended("The agent edge is gone; open the console again.", RELAY_LOST)
            frame = _frame_of(session, message)
            if frame.letter is Letter.DATA:
                await send({"type": "websocket.send", "bytes": frame.payload})
                passed_on = Frame(Letter.PASSED_ON, str(len(frame.payload)).encode())
                await self.relay.send(session.down, passed_on)
            elif frame.letter is Letter.CLOSED:
                raise _Ended(frame.text)

    async def _beat(self, session: Session) -> None:
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            await self.relay.open_session(session)
            await self.relay.send(session.down, Frame(Letter.BEAT))

    async def _recheck(self, door: Door) -> None:
        while True:
            await asyncio.sleep(RECHECK_SECONDS)
            try:
                await self.threads.run(door.check)
            except Turned as turned:
                raise _Ended(str(turned), UNAUTHENTICATED) from turned


def _frame_of(session: Session, message: tuple[str, bytes]) -> Frame:
    """Return the frame of a message. Raises _Ended when somebody else takes the console over."""
    channel, raw = message
    if channel != session.takeovers:
        return decode(raw)
    taker, _, person = raw.decode(errors="replace").partition(" ")
    if taker != str(session.id):
        raise _Ended(f"{person} has taken the console over.", TAKEN_OVER)
    return Frame(Letter.BEAT)


async def _notice(send: Send, kind: str, message: str) -> None:
    document = json.dumps({"kind": kind, "message": message})
    await send({"type": "websocket.send", "text": document})


async def _end(send: Send, reason: str, code: int) -> None:
    short = reason.encode()[:123].decode(errors="ignore")  # all that a close frame has room for
    with suppress(RuntimeError, OSError):  # whoever closed first needs no farewell
        await _notice(send, "closed", reason)
        await send({"type": "websocket.close", "code": code, "reason": short})


async def _deny(turned: Turned, scope: Scope, send: Send) -> None:
    """Refuse the opening with an HTTP answer where the server can, else with a bare refusal."""
    extensions = scope.get("extensions")
    if not isinstance(extensions, dict) or "websocket.http.response" not in extensions:
        await send({"type": "websocket.close"})
        return
    document = {
        "type": "about:blank",
        "status": turned.status,
        "code": turned.code,
        "detail": str(turned),
    }
    headers = {"content-type": "application/problem+json"}
    start = start_message(turned.status, headers)
    await send({**start, "type": "websocket.http.response.start"})
    body = json.dumps(document).encode()
    await send({"type": "websocket.http.response.body", "body": body})
