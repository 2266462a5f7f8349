"""One LISTEN connection per process, for ever: it reconnects, and says when it may have missed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence

import psycopg
import structlog
from django.db import connection
from psycopg import sql

FIRST_DELAY = 0.2
LAST_DELAY = 5.0
"""Seconds between attempts to reconnect, doubling from the first to the last, with jitter."""

_log = structlog.get_logger(__name__)


class Listener:
    """Hears notifications on channels until cancelled.

    `heard` is called with channel and payload; `missed` whenever something may have been said
    that was not heard: after each connect, the first too.
    """

    def __init__(
        self,
        channels: Sequence[str],
        *,
        heard: Callable[[str, str], None],
        missed: Callable[[], None],
    ) -> None:
        self._channels = tuple(channels)
        self._heard = heard
        self._missed = missed

    async def run(self) -> None:
        delay = FIRST_DELAY
        while True:
            try:
                async with await _connect() as listening:
                    for channel in self._channels:
                        await listening.execute(sql.SQL("LISTEN {}").format(
                            sql.Identifier(channel)))  # fmt: skip
                    delay = FIRST_DELAY
                    self._missed()
                    async for notification in listening.notifies():
                        self._heard(notification.channel, notification.payload)
            except (psycopg.Error, OSError) as error:
                _log.warning("listening_lost", channels=self._channels, error=str(error))
            await asyncio.sleep(delay * random.uniform(0.5, 1.5))  # noqa: S311  jitter, no secret
            delay = min(delay * 2, LAST_DELAY)


async def _connect() -> psycopg.AsyncConnection[tuple[object, ...]]:
    database = connection.settings_dict
    return await psycopg.AsyncConnection.connect(
        dbname=database["NAME"],
        user=database["USER"] or None,
        password=database["PASSWORD"] or None,
        host=database["HOST"] or None,
        port=database["PORT"] or None,
        application_name="infra listening",
        autocommit=True,
        connect_timeout=10,
        keepalives=1,
        keepalives_idle=15,
        keepalives_interval=5,
        keepalives_count=3,
    )
