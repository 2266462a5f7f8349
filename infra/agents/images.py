"""Images for nodes, straight from the content-addressed store: whole, or the rest of one."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

from agent.protocol.messages import IMAGE_PATH
from infra.agents.answers import problem
from infra.http import Receive, Scope, Send, header, start_message, text_of

IMAGE_PREFIX = IMAGE_PATH.partition("{")[0]
CHUNK_BYTES = 512 * 1024
_SHA256 = re.compile(r"[0-9a-f]{64}")
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


@dataclass(frozen=True)
class Span:
    """Bytes `start` up to, not including, `end` of `size`."""

    start: int
    end: int
    size: int


class Unsatisfiable(ValueError):
    """The range lies outside the image."""


def read_range(stated: str | None, size: int) -> Span | None:
    """Return the one range asked for, or None for the whole. Raises Unsatisfiable."""
    match = _RANGE.fullmatch(stated.strip()) if stated else None
    if match is None or match.groups() == ("", ""):
        return None  # RFC 9110: a range that is not understood is ignored
    first, last = match.groups()
    if not first:
        start, end = max(size - int(last), 0), size
        if last and int(last) == 0:
            raise Unsatisfiable
    else:
        start, end = int(first), min(int(last) + 1, size) if last else size
    if start >= size or end <= start:
        raise Unsatisfiable
    return Span(start, end, size)


async def send_image(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer GET or HEAD of an image: 200, 206, 404 or 416."""
    digest = text_of(scope, "path").removeprefix(IMAGE_PREFIX)
    method = text_of(scope, "method")
    if method not in {"GET", "HEAD"}:
        detail = "Images are read with GET or HEAD."
        await problem(405, "method.wrong", detail, {"allow": "GET, HEAD"}).send(send)
        return
    path = settings.ENVIRONMENT.images / digest
    if not _SHA256.fullmatch(digest) or not path.is_file():
        detail = f"The installation's store holds no image {digest[:64]}."
        await problem(404, "image.unknown", detail).send(send)
        return
    size = path.stat().st_size
    try:
        span = read_range(header(scope, "range"), size)
    except Unsatisfiable:
        detail = f"The image has {size} bytes."
        headers = {"content-range": f"bytes */{size}"}
        await problem(416, "range.unsatisfiable", detail, headers).send(send)
        return
    part = span or Span(0, size, size)
    await send(start_message(200 if span is None else 206, _headers(digest, span, size)))
    if method == "GET":
        gone = asyncio.create_task(_client_gone(receive))
        try:
            await _send_bytes(path, part, send, gone)
        finally:
            gone.cancel()
    await send({"type": "http.response.body", "body": b""})


def _headers(digest: str, span: Span | None, size: int) -> dict[str, str]:
    length = size if span is None else span.end - span.start
    headers = {
        "content-type": "application/octet-stream",
        "content-length": str(length),
        "accept-ranges": "bytes",
        "etag": f'"{digest}"',
    }
    if span is not None:
        headers["content-range"] = f"bytes {span.start}-{span.end - 1}/{size}"
    return headers


async def _client_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send_bytes(path: Path, span: Span, send: Send, gone: asyncio.Task[None]) -> None:
    with path.open("rb") as file:
        file.seek(span.start)
        left = span.end - span.start
        while left > 0 and not gone.done():
            chunk = await asyncio.to_thread(file.read, min(CHUNK_BYTES, left))
            if not chunk:
                break  # the file shrank; the short answer tells the agent, and its digest would too
            left -= len(chunk)
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
