"""A real web process on the test database, and a real browser to look at it with."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from django.conf import settings
from django.db import connection
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from inventory.models import User
from tests.events.conftest import session_of
from tests.waiting import wait_until

ROOT = Path(__file__).parents[2]
CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
"""Chromium asks nobody outside for anything, and runs as root in a container."""


def _database_url() -> str:
    parts = connection.settings_dict
    return (
        f"postgresql://{quote(parts['USER'])}:{quote(parts['PASSWORD'])}@/{parts['NAME']}"
        f"?host={quote(str(parts['HOST']), safe='/')}&port={parts['PORT'] or 5432}"
    )


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def web_process() -> Iterator[str]:
    """Run the web process on the test database; yield its address."""
    port = _free_port()
    words = ["uvicorn", "infra.asgi:application", "--port", str(port), "--log-level", "error"]
    environment = {
        **os.environ,
        "INFRA_DATABASE_URL": _database_url(),
        "INFRA_SECRET_KEY": settings.SECRET_KEY,
        "INFRA_PORT": str(settings.ENVIRONMENT.port),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", *words, "--timeout-graceful-shutdown", "1"],
        cwd=ROOT,
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until(lambda: _answers(address), seconds=60, what="the web process")
        yield address
    finally:
        process.terminate()
        process.wait(20)


def _answers(address: str) -> bool:
    page = f"{address}/sign-in/"
    with (
        suppress(urllib.error.URLError, ConnectionError),
        urllib.request.urlopen(page, timeout=20) as answer,  # noqa: S310  our own address
    ):
        return bool(answer.status == 200)
    return False


@dataclass
class Screen:
    """A person's browser window, and everything it complained about."""

    address: str
    context: BrowserContext
    page: Page
    complaints: list[str] = field(default_factory=list)

    def open(self, path: str) -> Page:
        self.page.goto(self.address + path)
        self.page.wait_for_load_state("load")
        self.page.wait_for_function("document.querySelector('#tray-body, .alone')")
        return self.page

    def note(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.complaints.append(message.text)


@contextmanager
def screen(
    chromium: Browser, address: str, user: User | None, **options: object
) -> Iterator[Screen]:
    """Open a window; signed in when a person is given."""
    options = {"viewport": {"width": 1366, "height": 850}, **options}
    context = chromium.new_context(**options)
    if user is not None:
        cookie = {"name": settings.SESSION_COOKIE_NAME, "value": session_of(user)}
        context.add_cookies([{**cookie, "url": address}])
    window = Screen(address, context, context.new_page())
    window.page.on("console", window.note)
    window.page.on("pageerror", lambda error: window.complaints.append(str(error)))
    try:
        yield window
    finally:
        context.close()
