"""What of the API is answered before Django sees it: image bytes, and bodies that are too large.

Django's ASGI handler reads a body to its end, to disk if need be, before anybody may refuse it.
"""

from __future__ import annotations

from http import HTTPStatus

from infra.api.bodies import MAX_BODY_BYTES
from infra.api.uploads import STORE, UploadRefused, problem_reply, take_image
from infra.http import Application, Message, Receive, Scope, Send, header, text_of

PREFIX = "/api/"


async def serve_http(django: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer one HTTP request, by Django unless it is one of ours."""
    path = text_of(scope, "path")
    store = STORE.fullmatch(path)
    if scope["type"] != "http" or not path.startswith(PREFIX):
        await django(scope, receive, send)
    elif store is not None:
        await take_image(store[1], scope, receive, send)
    elif _states_too_much(scope):
        await problem_reply(_TOO_LARGE).send(send)
    else:
        await _bounded(django, scope, receive, send)


_TOO_LARGE = UploadRefused(
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    "too_large",
    f"A body has at most {MAX_BODY_BYTES} bytes. Nothing changed.",
)


def _states_too_much(scope: Scope) -> bool:
    stated = header(scope, "content-length") or "0"
    return not stated.isdecimal() or len(stated) > 18 or int(stated) > MAX_BODY_BYTES  # noqa: PLR2004


async def _bounded(django: Application, scope: Scope, receive: Receive, send: Send) -> None:
    """Let Django read so much and no more; a body without a length is counted as it comes."""
    counted = 0

    async def counting() -> Message:
        nonlocal counted
        message = await receive()
        body = message.get("body", b"")
        counted += len(body) if isinstance(body, bytes) else 0
        if counted <= MAX_BODY_BYTES:
            return message
        await problem_reply(_TOO_LARGE).send(send)
        return {"type": "http.disconnect"}  # Django then ends without an answer of its own

    await django(scope, counting, send)
