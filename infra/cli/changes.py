"""Being woken by the event stream, and by a timer while the stream is lost.

Events only wake: whoever is woken reads again, so one that got lost costs a moment and no truth.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from infra.cli.clock import pause
from infra.cli.failures import Failure
from infra.cli.streams import ServerEvent, StreamLost

if TYPE_CHECKING:
    from infra.cli.api import Api

POLL_SECONDS = 2.0
"""How often is looked while the stream is lost."""

QUIET_SECONDS = 15.0
"""How often is looked while the stream is heard, for what makes no event, such as ages."""

GATHER_SECONDS, GATHER_TIMES = 0.05, 10
"""One change makes several events; they are answered with one look, but not put off for ever."""

FIRST_REOPEN_SECONDS, LONGEST_REOPEN_SECONDS = 1.0, 15.0


@dataclass(frozen=True)
class Lost:
    """The stream was lost, and why."""

    why: str


@dataclass(frozen=True)
class Opened:
    """The stream is heard (again)."""


News = ServerEvent | Lost | Opened


class Changes:
    """What has happened since one last looked."""

    def __init__(self, news: queue.Queue[News], say: Callable[[str], None]) -> None:
        self._news = news
        self._say = say
        self._is_heard = False
        self._was_lost = False

    def wait(self, *, most: float | None = None) -> None:
        """Return after an event, when it is time to look anyway, or after `most` seconds."""
        patience = QUIET_SECONDS if self._is_heard else POLL_SECONDS
        patience = patience if most is None else min(patience, most)
        with suppress(queue.Empty):
            self._take(self._news.get(timeout=patience))
            for _ in range(GATHER_TIMES):
                self._take(self._news.get(timeout=GATHER_SECONDS))

    def _take(self, news: News) -> None:
        match news:
            case Lost(why):
                if not self._was_lost:
                    self._say(f"The event stream was lost ({why}); looking every "
                              f"{POLL_SECONDS:g} s until it is back.")  # fmt: skip
                self._is_heard, self._was_lost = False, True
            case Opened():
                if self._was_lost:
                    self._say("The event stream is back.")
                self._is_heard, self._was_lost = True, False
            case ServerEvent():
                pass  # it has woken us, which is all it is for


@contextmanager
def changes_of(api: Api, say: Callable[[str], None], topics: Iterable[str]) -> Iterator[Changes]:
    """Listen to the topics in the background until the block ends."""
    news: queue.Queue[News] = queue.Queue()
    ended = threading.Event()
    listener = threading.Thread(
        target=_listen, args=(api, frozenset(topics), news, ended), daemon=True
    )
    listener.start()
    try:
        yield Changes(news, say)
    finally:
        ended.set()


def _listen(
    api: Api, topics: frozenset[str], news: queue.Queue[News], ended: threading.Event
) -> None:
    after, wait = "", FIRST_REOPEN_SECONDS
    while not ended.is_set():
        try:
            with api.events(topics, after=after) as events:
                news.put(Opened())
                wait = FIRST_REOPEN_SECONDS
                for event in events:
                    after = event.id or after
                    if event.document:  # a heartbeat only moves the place to go on from
                        news.put(event)
        except (StreamLost, Failure) as error:
            if ended.is_set():
                return
            news.put(Lost(str(error)))
        pause(wait)
        wait = min(wait * 2, LONGEST_REOPEN_SECONDS)
