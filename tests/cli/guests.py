"""The node's end of a serial console, straight at the relay: it greets, and echoes in capitals."""

from __future__ import annotations

import asyncio
import threading
from typing import Self
from uuid import UUID

from django.conf import settings

from infra.relay import Frame, Letter, Relay, Session, decode


class EchoGuest:
    """Answers the console orders of one node until the block ends."""

    def __init__(self, node_id: UUID) -> None:
        self._node_id = node_id
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)
        self.heard = b""
        self.farewell = ""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(15)

    async def _run(self) -> None:
        relay = Relay(settings.ENVIRONMENT.redis())
        while not self._ended.is_set():
            for order in await relay.take_orders(self._node_id):
                session = await relay.find_session(order.session_id)
                if session is not None:
                    await self._serve(relay, session)
            await asyncio.sleep(0.02)
        await relay.close()

    async def _serve(self, relay: Relay, session: Session) -> None:
        async with relay.subscribe(session.down) as coming:
            await relay.send(session.up, Frame(Letter.OPENED))
            await relay.send(session.up, Frame(Letter.DATA, b"what was said before\r\nlogin: "))
            while not self._ended.is_set():
                message = await coming.next(within=0.1)
                if message is None:
                    continue
                frame = decode(message[1])
                if frame.letter is Letter.CLOSED:
                    self.farewell = frame.text
                    return
                if frame.letter is Letter.DATA:
                    self.heard += frame.payload
                    await relay.send(session.up, Frame(Letter.DATA, frame.payload.upper()))
                if b"poweroff\r" in self.heard:
                    reason = "The guest has ended."
                    await relay.send(session.up, Frame(Letter.CLOSED, reason.encode()))
                    return
