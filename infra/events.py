"""Changes as they happen, as server-sent events: for pages and for programs.

A client that names the last event it saw (`Last-Event-ID`, or `?after=`) is told all that came
after it, then goes on live. `?topic=` and `?object_id=` narrow what is told; each may be repeated.
Two events are not from the log: `resync` says that what was missed can no longer be told, `cut`
that the client was too slow; after both it should read anew what it shows.

Pages use `console_events`; the API makes its own view with `events_view` and its own way of
telling who asks, for neither edge imports the other.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import connections
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from infra.database_threads import web_threads
from infra.event_hub import EventHub, Subscription, Told, event_hub, tell
from infra.event_log import Place, parse_place, read_bounds, read_events
from infra.sessions import session_actor
from inventory.access import Actor

HEARTBEAT_SECONDS = 15.0
RECHECK_SECONDS = 60.0
"""How long a revoked session or membership may go on listening."""

REPLAY_PAGE = 500
REPLAY_LIMIT = 10_000
"""Whoever missed more reads its objects anew faster than it could be told."""

MAX_FILTERS = 100
_HELLO = b"retry: 2000\n: connected\n\n"

Authenticate = Callable[[HttpRequest], Actor | None]
View = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@dataclass
class Wish:
    """Who listens to what. `actor` is renewed while the stream lasts."""

    actor: Actor
    topics: frozenset[str]
    objects: frozenset[UUID]

    def wants(self, told: Told) -> bool:
        if told.owner_id is not None and not self.actor.may_read(told.owner_id):
            return False
        if self.topics and told.topic not in self.topics:
            return False
        return not self.objects or not self.objects.isdisjoint(told.about)


class _BadQuery(ValueError):
    """A parameter that cannot be understood."""


def events_view(authenticate: Authenticate) -> View:
    """Return the stream as a view for those whom `authenticate` knows.

    `authenticate` may use the ORM; it is asked again every minute.
    """

    async def events(request: HttpRequest) -> HttpResponseBase:
        if request.method != "GET":
            return HttpResponse(status=405, headers={"allow": "GET"})
        await _give_back()
        try:
            actor = await web_threads().run(authenticate, request)
        except DatabaseError:
            return _problem(503, "unavailable", "The event log cannot be read now. Try again.")
        if actor is None:
            return _problem(401, "not_authenticated", "Sign in, or send an API token.")
        try:
            wish = _read_wish(request, actor)
            after = _read_place(request)
        except _BadQuery as error:
            return _problem(400, "invalid", str(error))
        recheck = partial(web_threads().run, authenticate, request)
        return StreamingHttpResponse(
            _stream(event_hub(), wish, after, recheck),
            content_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    return events


console_events = events_view(session_actor)
"""The stream for pages: whoever is signed in."""


async def _give_back() -> None:
    """Give back the connection that middleware has read the session with.

    Django would hold it to the end of the answer, which for a stream may be hours; and whoever
    holds one while waiting for another starves everybody when many come at once.
    """
    await sync_to_async(connections.close_all, thread_sensitive=True)()


def _read_wish(request: HttpRequest, actor: Actor) -> Wish:
    topics = frozenset(request.GET.getlist("topic"))
    raw = request.GET.getlist("object_id")
    if len(topics) > MAX_FILTERS or len(raw) > MAX_FILTERS:
        raise _BadQuery(f"At most {MAX_FILTERS} topics and {MAX_FILTERS} objects can be named.")
    try:
        return Wish(actor, topics, frozenset(UUID(each) for each in raw))
    except ValueError:
        raise _BadQuery("object_id must be the id (a UUID) of an object.") from None


def _read_place(request: HttpRequest) -> Place | None:
    named = request.headers.get("last-event-id") or request.GET.get("after")
    if not named:
        return None
    place = parse_place(named)
    if place is None:
        raise _BadQuery("Last-Event-ID must be the id of an event, such as 1234-56.")
    return place


def _problem(status: int, code: str, detail: str) -> HttpResponse:
    document = {"type": "about:blank", "status": status, "code": code, "detail": detail}
    return JsonResponse(document, status=status, content_type="application/problem+json")


async def _stream(
    hub: EventHub,
    wish: Wish,
    after: Place | None,
    recheck: Callable[[], Awaitable[Actor | None]],
) -> AsyncIterator[bytes]:
    await _give_back()
    try:
        async with hub.subscribe(wish.wants) as subscription:
            # Said only now: whoever has read it is told of everything that commits from here on.
            yield _HELLO
            begin = subscription.since
            if after is not None:
                bounds = await web_threads().run(read_bounds)
                if bounds.can_resume(after):
                    begin = max(after, begin)  # another process may have told it more already
                    async for part in _replay(wish, after, subscription.since):
                        yield part
                else:
                    yield _notice("resync", begin)
            async for part in _live(hub, subscription, wish, begin, recheck):
                yield part
    except DatabaseError:
        return  # the client comes back by itself, and names where it was


async def _replay(wish: Wish, after: Place, until: Place) -> AsyncIterator[bytes]:
    told_of = 0
    while after < until:
        page = await web_threads().run(read_events, after, limit=REPLAY_PAGE)
        for told in map(tell, page):
            if told.place > until:
                return
            after = told.place
            if wish.wants(told):
                yield told.encoded
        told_of += len(page)
        if not page:
            return
        if told_of >= REPLAY_LIMIT:
            yield _notice("resync", until)
            return


async def _live(
    hub: EventHub,
    subscription: Subscription,
    wish: Wish,
    begin: Place,
    recheck: Callable[[], Awaitable[Actor | None]],
) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    checked_at, beat_at = loop.time(), loop.time()
    while True:
        if loop.time() - checked_at >= RECHECK_SECONDS:
            actor = await recheck()
            if actor is None:
                return
            wish.actor, checked_at = actor, loop.time()
        several = await _next(subscription, within=beat_at + HEARTBEAT_SECONDS - loop.time())
        news = b"".join(told.encoded for told in several if told.place > begin)
        if news:
            beat_at = loop.time()
            yield news
        elif not several and subscription.overrun:
            yield _notice("cut", None)
            return
        elif not several:
            beat_at = loop.time()
            # The place moves on even when nothing was for this client; so does where it resumes.
            yield f": beat\nid: {max(hub.place or begin, begin)}\n\n".encode()


async def _next(subscription: Subscription, *, within: float) -> list[Told]:
    """Return what has come; nothing after `within` seconds or when the client was too slow."""
    queue = subscription.queue
    if subscription.overrun and queue.empty():
        return []
    try:
        async with asyncio.timeout(max(within, 0)):
            several = [await queue.get()]
    except TimeoutError:
        return []
    while not queue.empty():
        several.append(queue.get_nowait())
    return several


def _notice(name: str, place: Place | None) -> bytes:
    line = f"id: {place}\n" if place is not None else ""
    return f"{line}event: {name}\ndata: {json.dumps({'topic': name})}\n\n".encode()
