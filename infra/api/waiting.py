"""`Prefer: wait=N`: the answer is held back until the operation has ended, or N seconds.

While it waits, a request holds no thread and no database connection: the process's one reader of
the event log wakes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import wraps
from http import HTTPStatus
from uuid import UUID

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import connection, connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from infra.api.answers import OPERATIONS, WAITED_FOR, Answer, to_http
from infra.api.requests import wait_seconds
from infra.api.views.operations import accepted, operation_detail
from infra.database_threads import web_threads
from infra.event_hub import event_hub
from inventory.access import as_uuid
from operations.models import Operation
from operations.transitions import FINISHED_OPERATIONS

MOST_WAITING = 500
"""More than this many at once in a process, and the rest is answered at once: waiting is a wish."""

LOOK_AGAIN_SECONDS = 5.0
"""Events wake at once; this only covers one that was lost."""

APPLIED = "Preference-Applied"

View = Callable[..., HttpResponseBase]
AsyncView = Callable[..., Awaitable[HttpResponseBase]]

_waiting = asyncio.Semaphore(MOST_WAITING)


def show_ended(
    operation_id: UUID, response: HttpResponseBase, request: HttpRequest
) -> HttpResponseBase:
    """Return the answer anew, with the operation as it ended."""
    operation = Operation.objects.select_related("owner").get(pk=operation_id)
    if request.method == "GET":
        return to_http(Answer(operation_detail(operation)), request)
    again = to_http(replace(accepted(operation), status=HTTPStatus.OK), request)
    for name in ("Location", "Idempotency-Replayed"):
        if response.has_header(name):
            again[name] = response[name]
    return again


def waits(view: View) -> AsyncView:
    """Return the view so that it honours `Prefer: wait=N` for the operation it answers with."""

    @wraps(view)
    async def waiting(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        answered = sync_to_async(view, thread_sensitive=True)
        response = await answered(request, *args, **kwargs)
        seconds = wait_seconds(request)
        operation_id = _operation_of(response)
        if not seconds or operation_id is None:
            return response
        await _give_back()
        if await wait_for(operation_id, seconds):
            shown = sync_to_async(show_ended, thread_sensitive=True)
            response = await shown(operation_id, response, request)
        response[APPLIED] = f"wait={seconds}"
        return response

    return waiting


def _operation_of(response: HttpResponseBase) -> UUID | None:
    named: UUID | None = getattr(response, WAITED_FOR, None)
    place = response.get("Location", "")
    if named is not None or not place.startswith(OPERATIONS):
        return named
    return as_uuid(place.removeprefix(OPERATIONS))


async def _give_back() -> None:
    """Give the connection of this request back to the pool, unless a transaction is open in it."""

    def close() -> None:
        if not connection.in_atomic_block:
            connections.close_all()

    await sync_to_async(close, thread_sensitive=True)()


async def wait_for(operation_id: UUID, seconds: float) -> bool:
    """Return whether the operation has ended, after at most `seconds`."""
    if _waiting.locked():
        return False
    loop = asyncio.get_running_loop()
    ends = loop.time() + seconds
    try:
        async with (
            _waiting,
            event_hub().subscribe(lambda told: operation_id in told.about) as news,
        ):
            while not await web_threads().run(has_ended, operation_id):
                left = min(ends - loop.time(), LOOK_AGAIN_SECONDS)
                if left <= 0:
                    return False
                try:
                    await asyncio.wait_for(news.queue.get(), left)
                except TimeoutError:
                    continue
                while not news.queue.empty():
                    news.queue.get_nowait()
    except DatabaseError:
        return False
    return True


def has_ended(operation_id: UUID) -> bool:
    """Return whether nothing more will happen for the operation."""
    state = Operation.objects.filter(pk=operation_id).values_list("state", flat=True).first()
    return state is None or state in FINISHED_OPERATIONS
