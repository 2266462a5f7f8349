"""A droplet's serial console in this terminal, over the API's WebSocket."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from infra.cli.api import PREFIX
from infra.cli.documents import mapping, text
from infra.cli.escapes import Escapes
from infra.cli.failures import ExitCode, Failure
from infra.cli.problems import failure_of
from infra.cli.target import Target
from infra.cli.terminal import raw_terminal, write_all

OPEN_SECONDS = 15.0
READ_BYTES = 4096
NORMAL, LOST = 1000, 1006
ENDINGS: Mapping[int, ExitCode] = MappingProxyType(
    {
        NORMAL: ExitCode.OK,
        4401: ExitCode.ERROR,
        4409: ExitCode.CONFLICT,
        4425: ExitCode.CONFLICT,
        4503: ExitCode.UNCERTAIN,
        4504: ExitCode.UNCERTAIN,
    }
)
"""What the server's close codes mean for the exit code."""

UNTOUCHED = "Nothing was changed by this; a guest that runs goes on."


@dataclass(frozen=True)
class Ending:
    """How a console ended: the close code, and the last word of the server."""

    code: int
    reason: str


def run_console(target: Target, droplet_id: str, *, say: Callable[[str], None]) -> None:
    """Connect this terminal to the console until either side ends it. Raises Failure."""
    try:
        ending = asyncio.run(_console(target, droplet_id))
    except InvalidStatus as error:
        raise failure_of(error.response.status_code, _problem(error.response.body)) from error
    except (OSError, TimeoutError, InvalidHandshake) as error:
        why = str(error) or type(error).__name__
        raise Failure(
            ExitCode.ERROR, f"The console cannot be opened: {why}", safe=UNTOUCHED
        ) from error
    code = ENDINGS.get(ending.code, ExitCode.ERROR)
    if code != ExitCode.OK:
        raise Failure(code, ending.reason or "The connection was lost.", safe=UNTOUCHED,
                      advice="Open it again with the same command.")  # fmt: skip
    say(ending.reason or "The console was closed.")


async def _console(target: Target, droplet_id: str) -> Ending:
    address = f"ws{target.url.removeprefix('http')}{PREFIX}droplets/{droplet_id}/console"
    headers = {"Authorization": f"Bearer {target.token}"} if target.token else {}
    async with connect(
        address,
        additional_headers=headers,
        open_timeout=OPEN_SECONDS,
        compression=None,
        max_size=None,
        proxy=None if target.is_loopback else True,
    ) as connection:
        with raw_terminal() as is_raw:
            end = "\r\n" if is_raw else "\n"
            return await _relay(connection, lambda words: _write_notice(words, end))


async def _relay(connection: ClientConnection, notice: Callable[[str], None]) -> Ending:
    """Pass bytes both ways until the person leaves, the server closes or a signal comes."""
    loop = asyncio.get_running_loop()
    left, opened = asyncio.Event(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, left.set)
    outgoing: asyncio.Queue[bytes] = asyncio.Queue()
    showing = asyncio.ensure_future(_show(connection, notice, opened))
    leaving = asyncio.ensure_future(left.wait())
    typing = asyncio.ensure_future(_type(outgoing, left))
    sending = asyncio.ensure_future(_send(connection, outgoing, opened))
    try:
        await asyncio.wait({showing, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if showing.done():
            return showing.result()
        return Ending(NORMAL, "You left the console; the guest goes on.")
    finally:
        for task in (showing, leaving, typing, sending):
            task.cancel()


async def _show(
    connection: ClientConnection, notice: Callable[[str], None], opened: asyncio.Event
) -> Ending:
    """Show what comes until the connection ends, and return how it did."""
    reason = ""
    screen = sys.stdout.fileno()
    try:
        while True:
            message = await connection.recv()
            if isinstance(message, bytes):
                write_all(screen, message)
                continue
            document = mapping(json.loads(message))
            if text(document, "kind") == "closed":
                reason = text(document, "message")
                continue
            notice(text(document, "message"))
            if text(document, "kind") == "open":
                notice("Leave with Ctrl-] or with ~. at the beginning of a line.")
                opened.set()
    except ConnectionClosed as closed:
        frame = closed.rcvd
        return Ending(frame.code if frame else LOST, reason or (frame.reason if frame else ""))


async def _type(outgoing: asyncio.Queue[bytes], left: asyncio.Event) -> None:
    """Take what is typed; returns at the end of the input, which does not end the console."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        # A thread of its own: files and pipes can be read so as well, and it dies with the process.
        while data := os.read(sys.stdin.fileno(), READ_BYTES):
            loop.call_soon_threadsafe(typed.put_nowait, data)
        loop.call_soon_threadsafe(typed.put_nowait, b"")

    threading.Thread(target=read, daemon=True).start()
    escapes = Escapes()
    while data := await typed.get():
        meant = escapes.take(data)
        if meant.data:
            outgoing.put_nowait(meant.data)
        if meant.leaves:
            left.set()
            return


async def _send(
    connection: ClientConnection, outgoing: asyncio.Queue[bytes], opened: asyncio.Event
) -> None:
    """Send what was typed once the node listens: what comes earlier would reach nobody."""
    await opened.wait()
    with suppress(ConnectionClosed):  # whoever shows the output says how it ended
        while True:
            await connection.send(await outgoing.get())


def _write_notice(words: str, end: str) -> None:
    sys.stderr.write(f"[{words}]{end}")
    sys.stderr.flush()


def _problem(body: bytes | bytearray | None) -> Mapping[str, object]:
    try:
        return mapping(json.loads(body or b"{}"))
    except ValueError:
        return {}
