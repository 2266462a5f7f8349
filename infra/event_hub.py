"""One reader of the event log per process, and everybody in it who listens.

PostgreSQL's NOTIFY only wakes it; what it tells comes from the log. However many listen, it uses
one connection to be woken and, for moments, one to read.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from uuid import UUID
from weakref import WeakKeyDictionary

import structlog
from django.db import Error as DatabaseError

from infra.database_threads import DatabaseThreads, web_threads
from infra.event_log import Place, place_of, read_bounds, read_events
from infra.listening import Listener
from inventory.models import Event
from operations.outbox import EVENTS_CHANNEL

QUEUE_SIZE = 2000
"""Events a client may be behind before it is cut and told to resume; memory stays bounded."""

READ_AT_ONCE = 500
SHORTEST_WAIT = 0.05
LONGEST_WAIT = 1.0
"""Seconds between looks: short after news, for a running transaction may hold more back; then
doubling to the longest, so that a lost NOTIFY costs no more than that."""

LINGER_SECONDS = 30.0
"""How long the reader outlives its last client; people go from page to page."""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Told:
    """An event as it goes out: encoded once, whoever reads it."""

    place: Place
    topic: str
    owner_id: UUID | None
    about: frozenset[UUID]
    encoded: bytes


@dataclass(eq=False)
class Subscription:
    """One client's queue; `wants` decides what is put in. `since` is where it begins."""

    wants: Callable[[Told], bool]
    since: Place
    queue: asyncio.Queue[Told] = field(default_factory=lambda: asyncio.Queue(QUEUE_SIZE))
    overrun: bool = False

    def offer(self, told: Told) -> None:
        if self.overrun or not self.wants(told):
            return
        try:
            self.queue.put_nowait(told)
        except asyncio.QueueFull:
            self.overrun = True


class EventHub:
    """Reads the log while somebody listens."""

    def __init__(self, threads: DatabaseThreads) -> None:
        self.place: Place | None = None
        self._threads = threads
        self._subscriptions: set[Subscription] = set()
        self._woken = asyncio.Event()
        self._starting = asyncio.Lock()
        self._reader: asyncio.Task[None] | None = None

    @property
    def clients(self) -> int:
        return len(self._subscriptions)

    @asynccontextmanager
    async def subscribe(self, wants: Callable[[Told], bool]) -> AsyncIterator[Subscription]:
        """Listen from the end of the log on. Raises DatabaseError when it cannot be read."""
        async with self._starting:
            if self.place is None or not self._subscriptions:
                bounds = await self._threads.run(read_bounds)
                self.place = max(bounds.newest, self.place or bounds.newest)
            if self._reader is None or self._reader.done():
                self._reader = asyncio.create_task(self._read())
            subscription = Subscription(wants, self.place)
            self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)

    async def _read(self) -> None:
        listener = Listener([EVENTS_CHANNEL], heard=self._heard, missed=self._woken.set)
        listening = asyncio.create_task(listener.run())
        try:
            await self._keep_looking()
        finally:
            listening.cancel()
            with suppress(asyncio.CancelledError):
                await listening

    def _heard(self, _channel: str, _payload: str) -> None:
        self._woken.set()

    async def _keep_looking(self) -> None:
        loop = asyncio.get_running_loop()
        wait, last_client_at = SHORTEST_WAIT, loop.time()
        while True:
            woken = await self._wait(wait)
            if not self._subscriptions:
                if loop.time() - last_client_at > LINGER_SECONDS:
                    return
                wait = LONGEST_WAIT
                continue
            last_client_at = loop.time()
            try:
                found = await self._look()
            except DatabaseError as error:
                _log.warning("event_log_not_read", error=str(error))
                wait = LONGEST_WAIT
                continue
            wait = SHORTEST_WAIT if found or woken else min(wait * 2, LONGEST_WAIT)

    async def _wait(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                await self._woken.wait()
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    async def _look(self) -> int:
        after = self.place
        if after is None:
            return 0
        events = await self._threads.run(read_events, after, limit=READ_AT_ONCE)
        for event in events:
            told = tell(event)
            # The place moves with each event, so that whoever joins now begins right behind it.
            self.place = told.place
            for subscription in self._subscriptions:
                subscription.offer(told)
        if len(events) == READ_AT_ONCE:
            self._woken.set()
        return len(events)


def tell(event: Event) -> Told:
    """Return the event as a server-sent event, and what decides who may see it."""
    place = place_of(event)
    document = {
        "id": str(place),
        "topic": event.topic,
        "action": event.action,
        "object_id": str(event.object_id),
        "operation_id": str(event.operation_id) if event.operation_id else None,
        "at": event.at.isoformat(),
        "data": event.data,
    }
    encoded = f"id: {place}\nevent: {event.topic}\ndata: {json.dumps(document)}\n\n".encode()
    return Told(place, event.topic, event.owner_id, _about(event), encoded)


def _about(event: Event) -> frozenset[UUID]:
    about = {event.object_id}
    if event.operation_id is not None:
        about.add(event.operation_id)
    resource = event.data.get("resource_id") if isinstance(event.data, dict) else None
    with suppress(ValueError):
        about.add(UUID(str(resource)))
    return frozenset(about)


_HUBS: WeakKeyDictionary[asyncio.AbstractEventLoop, EventHub] = WeakKeyDictionary()


def event_hub() -> EventHub:
    """Return the hub of the running event loop: one per process that serves."""
    loop = asyncio.get_running_loop()
    hub = _HUBS.get(loop)
    if hub is None:
        hub = _HUBS[loop] = EventHub(web_threads())
    return hub
