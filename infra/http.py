"""The few ASGI pieces that do not go through Django: messages, headers, bodies with a limit."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass, field

Message = MutableMapping[str, object]
Scope = MutableMapping[str, object]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class BodyTooLarge(Exception):
    """The body is longer than this request may have; `limit` is in bytes."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"The body is longer than {limit} bytes.")
        self.limit = limit


class ClientGone(Exception):
    """The other side closed the connection before it had sent all, or before it was answered."""


@dataclass(frozen=True)
class Reply:
    """A whole HTTP answer."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)

    async def send(self, send: Send) -> None:
        headers = {
            "content-type": self.content_type,
            "content-length": str(len(self.body)),
            **self.headers,
        }
        await send(start_message(self.status, headers))
        await send({"type": "http.response.body", "body": self.body})


def start_message(status: int, headers: Mapping[str, str]) -> Message:
    """Return the ASGI message that opens an answer."""
    pairs = [(name.lower().encode("latin-1"), text.encode("latin-1")) for name, text in
             headers.items()]  # fmt: skip
    return {"type": "http.response.start", "status": status, "headers": pairs}


def text_of(scope: Scope, key: str) -> str:
    """Return a string of the scope; empty when it is missing."""
    value = scope.get(key)
    return value if isinstance(value, str) else ""


def header(scope: Scope, name: str) -> str | None:
    """Return the first value of a header, or None."""
    wanted = name.lower().encode("latin-1")
    pairs = scope.get("headers")
    if not isinstance(pairs, list | tuple):
        return None
    for key, value in pairs:
        if bytes(key) == wanted:
            return bytes(value).decode("latin-1")
    return None


def peer_address(scope: Scope) -> str:
    """Return the address of the socket's other end; no header is ever asked."""
    client = scope.get("client")
    return str(client[0]) if isinstance(client, list | tuple) and client else ""


async def read_body(scope: Scope, receive: Receive, *, limit: int) -> bytes:
    """Return the whole body. Raises BodyTooLarge beyond `limit` bytes, ClientGone."""
    stated = header(scope, "content-length")
    if stated is not None and stated.isdecimal() and int(stated) > limit:
        raise BodyTooLarge(limit)
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ClientGone
        part = message.get("body", b"")
        body += part if isinstance(part, bytes) else b""
        if len(body) > limit:
            raise BodyTooLarge(limit)
        if not message.get("more_body", False):
            return bytes(body)
