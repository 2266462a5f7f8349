"""The serial console's way between processes: Redis carries orders, bytes and notices.

Nothing here is kept: losing Redis ends the consoles that are open and nothing else. Bytes travel
on two channels per session, `down` (person to guest) and `up` (guest to person), as frames of one
letter and a payload. The person's side acknowledges what it has passed on; the guest's side stops
reading when too much is on its way, so that a chatty guest waits instead of filling memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum
from typing import cast
from uuid import UUID

import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from agent.protocol.messages import ConsoleOrder

COMMAND_SECONDS = 2.0
"""Redis is on this machine or the next; whoever waits longer than this waits in vain."""

ORDER_SECONDS = 20
SESSION_SECONDS = 60
"""Both are renewed while needed; an order or session whose maker has died ends by itself."""

BEAT_SECONDS = 5.0
SILENCE_SECONDS = 20.0
"""Each side says every few seconds that it lives, and gives up on the other after some silence."""

CLIENT_NAME = "infra-console"
WINDOW_BYTES = 256 * 1024
_PREFIX = "infra:console:"
_log = structlog.get_logger(__name__)


class RelayLost(Exception):
    """Redis cannot be reached, or has forgotten the session."""


class Letter(Enum):
    """What a frame is."""

    OPENED = b"o"
    DATA = b"d"
    PASSED_ON = b"a"
    BEAT = b"h"
    CLOSED = b"c"


@dataclass(frozen=True)
class Frame:
    """One message of a session; `payload` is bytes, a count in digits, or a reason in UTF-8."""

    letter: Letter
    payload: bytes = b""

    def encode(self) -> bytes:
        return self.letter.value + self.payload

    @property
    def text(self) -> str:
        return self.payload.decode(errors="replace")


def decode(raw: bytes) -> Frame:
    """Return the frame. Raises ValueError for an unknown letter."""
    return Frame(Letter(raw[:1]), raw[1:])


@dataclass(frozen=True)
class Session:
    """One open console: which droplet on which node, and for whom."""

    id: UUID
    node_id: UUID
    resource_id: UUID
    person: str

    @property
    def up(self) -> str:
        return f"{_PREFIX}{self.id}:up"

    @property
    def down(self) -> str:
        return f"{_PREFIX}{self.id}:down"

    @property
    def takeovers(self) -> str:
        return takeover_channel(self.resource_id)


def takeover_channel(resource_id: UUID) -> str:
    """Return the channel on which a newer session of the droplet says that it takes over."""
    return f"{_PREFIX}droplet:{resource_id}"


class Relay:
    """Redis, as consoles use it. Every method raises RelayLost when Redis is away."""

    def __init__(self, url: str) -> None:
        # No silent reconnect: what was said meanwhile would be missing, and nobody would know.
        self._redis = Redis.from_url(
            url,
            client_name=CLIENT_NAME,
            socket_connect_timeout=COMMAND_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )

    async def close(self) -> None:
        await self._redis.aclose()

    async def open_session(self, session: Session) -> None:
        """Make the session known, so that its node may dial it; renews it when it is."""
        document = json.dumps({
            "node": str(session.node_id), "resource": str(session.resource_id),
            "person": session.person,
        })  # fmt: skip
        await _soon(self._redis.set(_session_key(session.id), document, ex=SESSION_SECONDS))

    async def order(self, session: Session) -> None:
        """Put an order for the node where its next poll finds it."""
        order = ConsoleOrder(session_id=session.id, resource_id=session.resource_id)
        key = _orders_key(session.node_id)
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.hset(key, str(session.id), order.model_dump_json())
            pipe.expire(key, ORDER_SECONDS)
            await _soon(pipe.execute())

    async def end_session(self, session: Session) -> None:
        """Forget the session and its order."""
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.delete(_session_key(session.id), _agent_key(session.id))
            pipe.hdel(_orders_key(session.node_id), str(session.id))
            await _soon(pipe.execute())

    async def find_session(self, session_id: UUID) -> Session | None:
        """Return the session, or None when it has ended or never was."""
        raw = await _soon(self._redis.get(_session_key(session_id)))
        if not isinstance(raw, bytes):
            return None
        document = json.loads(raw)
        return Session(
            id=session_id,
            node_id=UUID(document["node"]),
            resource_id=UUID(document["resource"]),
            person=document["person"],
        )

    async def claim_agent_side(self, session: Session) -> bool:
        """Return whether this is the first connection of an agent to the session."""
        claimed = self._redis.set(_agent_key(session.id), b"1", nx=True, ex=3600)
        return bool(await _soon(claimed))

    async def take_orders(self, node_id: UUID) -> tuple[ConsoleOrder, ...]:
        """Return the orders that wait for the node, and take them away."""
        key = _orders_key(node_id)
        async with self._redis.pipeline(transaction=True) as pipe:
            pipe.hvals(key)
            pipe.delete(key)
            found, _ = cast("tuple[list[bytes], int]", await _soon(pipe.execute()))
        return tuple(ConsoleOrder.model_validate_json(raw) for raw in found)

    async def send(self, channel: str, frame: Frame) -> None:
        await _soon(self._redis.publish(channel, frame.encode()))

    async def announce(self, channel: str, text: str) -> None:
        await _soon(self._redis.publish(channel, text.encode()))

    @asynccontextmanager
    async def subscribe(self, *channels: str) -> AsyncIterator[Subscription]:
        """Hear the channels from here on, until the block ends."""
        listening = self._redis.pubsub(ignore_subscribe_messages=False)
        try:
            await _soon(listening.subscribe(*channels))
            for _ in channels:
                await _soon(listening.get_message(timeout=COMMAND_SECONDS))
            yield Subscription(listening.get_message)
        finally:
            await listening.aclose()  # type: ignore[no-untyped-call]


class Subscription:
    """The messages of some channels, in the order Redis saw them."""

    def __init__(self, get_message: object) -> None:
        self._get_message = get_message

    async def next(self, *, within: float) -> tuple[str, bytes] | None:
        """Return the next (channel, bytes), or None after `within` seconds. Raises RelayLost."""
        try:
            message = await self._get_message(  # type: ignore[operator]
                ignore_subscribe_messages=True, timeout=within
            )
        except (RedisError, OSError) as error:
            raise RelayLost("The relay between the processes was lost.") from error
        if message is None:
            return None
        return message["channel"].decode(), message["data"]


async def pending_consoles(relay: Relay, node_id: UUID) -> tuple[ConsoleOrder, ...]:
    """Return the consoles somebody wants on the node; none when Redis is away."""
    try:
        return await relay.take_orders(node_id)
    except RelayLost as error:
        _log.warning("console_orders_not_read", node_id=str(node_id), error=str(error))
        return ()


async def _soon(command: object) -> object:
    try:
        async with asyncio.timeout(COMMAND_SECONDS):
            return await cast("Awaitable[object]", command)  # redis types sync and async as one
    except (RedisError, OSError, TimeoutError) as error:
        raise RelayLost("The relay between the processes cannot be reached.") from error


def _orders_key(node_id: UUID) -> str:
    return f"{_PREFIX}orders:{node_id.hex}"


def _session_key(session_id: UUID) -> str:
    return f"{_PREFIX}session:{session_id}"


def _agent_key(session_id: UUID) -> str:
    return f"{_PREFIX}agent:{session_id}"
