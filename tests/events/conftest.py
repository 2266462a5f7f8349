"""A real web server on loopback, and clients that listen to its stream."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Self

import httpx2
import pytest
import uvicorn
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core.handlers.asgi import ASGIHandler
from django.db import connection, transaction
from django.utils import timezone

from inventory.identifiers import uuid7
from inventory.models import Event, User
from operations.outbox import publish
from tests.waiting import wait_until


@dataclass
class Listening:
    """One client of the stream, in its own thread."""

    url: str
    cookies: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    status: int = 0
    ended: bool = False

    def __enter__(self) -> Self:
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        wait_until(lambda: self.status, what="the stream to open")
        if self.status == 200:
            wait_until(lambda: ": connected" in self.lines, what="the stream to greet")
        return self

    def _run(self) -> None:
        try:
            with (
                httpx2.Client(cookies=self.cookies, timeout=60) as client,
                client.stream("GET", self.url, headers=self.headers) as response,
            ):
                self._response = response
                self.status = response.status_code
                for line in response.iter_lines():
                    self.lines.append(line)
                    if self._stop.is_set():
                        return
        except httpx2.HTTPError:
            pass
        finally:
            self.ended = True

    def __exit__(self, *_: object) -> None:
        self._stop.set()

    @property
    def told(self) -> list[dict[str, object]]:
        return [json.loads(line[6:]) for line in list(self.lines) if line.startswith("data: ")]

    @property
    def actions(self) -> list[object]:
        return [each.get("action", each["topic"]) for each in self.told]

    def wait_for(self, count: int) -> list[object]:
        wait_until(lambda: len(self.told) >= count, what=f"{count} events")
        return self.actions


class Web:
    """The server; `listen` opens a stream as a person."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            ASGIHandler(), lifespan="off", log_config=None, timeout_graceful_shutdown=1
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._server._serve([self._socket]))
        )
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/events"

    def __enter__(self) -> Self:
        self._thread.start()
        wait_until(lambda: self._server.started, what="the web server")
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(15)
        assert not self._thread.is_alive()
        connection.close_pool()

    def listen(self, user: User | None, query: str = "", **headers: str) -> Listening:
        cookies = {settings.SESSION_COOKIE_NAME: session_of(user)} if user else {}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Listening(self.url + query, cookies, named)


def session_of(user: User) -> str:
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    return str(session.session_key)


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("ada", password="correct horse")


@pytest.fixture
def web(transactional_db: None, settings) -> Iterator[Web]:
    settings.ROOT_URLCONF = "tests.events.urls"
    with Web() as running:
        yield running


def tell_of(action: str, topic: str = "droplet", **options: object) -> None:
    with transaction.atomic():
        publish(topic, action, options.pop("object_id", uuid7()), now=timezone.now(), **options)


def places() -> list[str]:
    rows = Event.objects.order_by("transaction", "id").values_list("transaction", "id")
    return [f"{transaction_id}-{row_id}" for transaction_id, row_id in rows]
