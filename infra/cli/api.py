"""Requests to the API: errors as failures, lost answers asked for again, pages, streams.

Every write carries an Idempotency-Key that stays the same however often it has to be sent, so a
repeat after a lost answer returns what the first one did and never does it twice.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx2

from infra.cli.documents import Document, mapping, mappings, text
from infra.cli.questions import (
    REFUSAL,
    Answer,
    Parameters,
    Question,
    lost,
    not_ours,
    refused,
    unreachable,
)
from infra.cli.streams import ServerEvent, StreamLost
from infra.cli.target import Target

PREFIX = "/api/v1/"

RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 4.0)
"""Pauses before the repeats of a request whose answer was lost: long enough for a restart."""

ANSWER_SECONDS = 60.0
CONNECT_SECONDS = 5.0
SILENCE_SECONDS = 45.0
"""The event stream says something at least every 15 s or so; after this it is taken for lost."""

UPLOAD_PART_BYTES = 1 << 20

_ERRNO = re.compile(r"^\[Errno -?\d+\] ")
_NOTHING_SENT = (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout)


class Api:
    """The API of one installation, as one person. A context manager that closes connections."""

    def __init__(
        self,
        target: Target,
        *,
        pause: Callable[[float], None],
        say: Callable[[str], None],
        key: str = "",
    ) -> None:
        """`say` takes notices for the person; `key` is the first write's key, "" to draw one."""
        self.target = target
        self._pause = pause
        self._say = say
        self._key = key
        self._writes = 0
        self._client = httpx2.Client(
            base_url=target.url + PREFIX,
            headers=_headers(target),
            timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
            trust_env=not target.is_loopback,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._client.close()

    def get(self, path: str, query: Parameters | None = None, *, wait: int = 0) -> Answer:
        """Return the answer; the server may hold it back up to `wait` seconds. Raises Failure."""
        headers = {"Prefer": f"wait={wait}"} if wait else {}
        return self._ask(Question("GET", path, query or {}, headers))

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Parameters | None = None,
        if_match: str = "",
    ) -> Answer:
        """Send a change and return the answer. Raises Failure; UNCERTAIN when it stays unknown."""
        headers = {"Idempotency-Key": self._next_key()}
        if if_match:
            headers["If-Match"] = if_match
        if body is None:
            return self._ask(Question(method, path, query or {}, headers))
        content = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
        return self._ask(Question(method, path, query or {}, headers, lambda: iter([content])))

    def upload(self, path: str, file: Path, *, progress: Callable[[int], None]) -> Answer:
        """Send the bytes of a file; `progress` hears how many have gone. Raises Failure."""
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Length": str(file.stat().st_size),
            "Idempotency-Key": self._next_key(),
        }
        return self._ask(Question("PUT", path, {}, headers, lambda: _parts(file, progress)))

    def pages(self, path: str, query: Parameters, *, limit: int | None) -> Iterator[Document]:
        """Yield the objects of a list, page by page; at most `limit`, None for all of them."""
        left = limit
        asked = dict(query)
        while left is None or left > 0:
            answer = self.get(path, asked)
            for item in mappings(answer.document, "items"):
                yield item
                left = None if left is None else left - 1
                if left == 0:
                    return
            cursor = text(answer.document, "next_cursor")
            if not cursor:
                return
            asked = {**asked, "cursor": cursor}

    @contextmanager
    def events(
        self, topics: Iterable[str] = (), *, after: str = ""
    ) -> Iterator[Iterator[ServerEvent]]:
        """Open the event stream after an event id; all topics for none.

        Raises StreamLost, also while it is read.
        """
        headers = {"Last-Event-ID": after} if after else {}
        timeout = httpx2.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS)
        try:
            with self._client.sse(
                "events", params={"topic": list(topics)}, headers=headers, timeout=timeout
            ) as source:
                yield _server_events(source)
        except httpx2.TransportError as error:
            raise StreamLost(str(error) or type(error).__name__) from error

    def _next_key(self) -> str:
        self._writes += 1
        if not self._key:
            return secrets.token_hex(16)
        return self._key if self._writes == 1 else f"{self._key}-{self._writes}"

    def _ask(self, question: Question) -> Answer:
        was_lost = False
        for seconds in (*RETRY_SECONDS, None):
            try:
                answer = self._send(question)
            except _NOTHING_SENT as error:
                if not was_lost:
                    raise unreachable(self.target, _words(error)) from error
                failure, wait = lost(self.target, question, _words(error)), seconds
            except httpx2.TransportError as error:
                was_lost = True
                failure, wait = lost(self.target, question, _words(error)), seconds
            else:
                if not answer.is_refusal:
                    return answer
                failure = refused(question, answer)
                if not answer.may_be_asked_again or seconds is None:
                    raise failure
                wait = answer.retry_after(seconds)
            if wait is None:
                raise failure
            self._say(f"{failure.what.split('. ')[0].rstrip('.')}. Asking again in {wait:g} s.")
            self._pause(wait)
        raise AssertionError  # the last round returns or raises

    def _send(self, question: Question) -> Answer:
        response = self._client.request(
            question.method,
            question.path,
            params=dict(question.query),
            headers=dict(question.headers),
            content=question.parts() if question.parts else None,
        )
        document = _document(response.content)
        if document is None:
            stranger = not_ours(self.target, response.status_code)
            if response.status_code < REFUSAL:
                raise stranger
            document = {"detail": str(stranger)}
        return Answer(
            status=response.status_code,
            document=document,
            headers={name.lower(): value for name, value in response.headers.items()},
        )


def _server_events(source: httpx2.EventSource) -> Iterator[ServerEvent]:
    """Yield the events that carry a document. Raises StreamLost when the stream ends."""
    status = source.response.status_code
    if status != 200:  # noqa: PLR2004  the one status with events
        raise StreamLost(f"the server answered {status}")
    for event in source:
        try:
            document = json.loads(event.data) if event.data else {}
        except ValueError:
            continue
        yield ServerEvent(event.id, event.event, mapping(document))
    raise StreamLost("the server ended it")


def _headers(target: Target) -> dict[str, str]:
    headers = {"Accept": "application/json, application/problem+json", "User-Agent": "infra-cli"}
    if target.token:
        headers["Authorization"] = f"Bearer {target.token}"
    return headers


def _document(content: bytes) -> Document | None:
    """Return the body as a document; None for what only a proxy or a stranger can have sent."""
    if not content:
        return {}
    try:
        document = json.loads(content)
    except ValueError:
        return None
    return mapping(document) if isinstance(document, Mapping) else None


def _parts(file: Path, progress: Callable[[int], None]) -> Iterator[bytes]:
    sent = 0
    with file.open("rb") as opened:
        while part := opened.read(UPLOAD_PART_BYTES):
            yield part
            sent += len(part)
            progress(sent)


def _words(error: Exception) -> str:
    words = _ERRNO.sub("", str(error)) or type(error).__name__
    return words.rstrip(".")
