"""Being woken by the event stream, and by a timer while the stream is lost.

Events only wake: whoever is woken reads again, so one that got lost costs a moment and no truth.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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

GATHER_SECONDS = 0.1
"""One change makes several events; they are answered with one look."""

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

    def wait(self, topics: frozenset[str], *, most: float | None = None) -> bool:
        """Return after an event of one of the topics, or when it is time to look anyway.

        Returns whether there was an event. `most` limits the wait, in seconds.
        """
        patience = QUIET_SECONDS if self._is_heard else POLL_SECONDS
        patience = patience if most is None else min(patience, most)
        while True:
            try:
                news = self._news.get(timeout=patience)
            except queue.Empty:
                return False
            if self._take(news, topics):
                self._gather()
                return True

    def _gather(self) -> None:
        """Take what belongs to the same change."""
        while True:
            try:
                self._take(self._news.get(timeout=GATHER_SECONDS), frozenset())
            except queue.Empty:
                return

    def _take(self, news: News, topics: frozenset[str]) -> bool:
        match news:
            case Lost(why):
                if not self._was_lost:
                    self._say(f"The event stream was lost ({why}); looking every "
                              f"{POLL_SECONDS:g} s until it is back.")  # fmt: skip
                self._is_heard, self._was_lost = False, True
                return True
            case Opened():
                if self._was_lost:
                    self._say("The event stream is back.")
                self._is_heard, self._was_lost = True, False
                return True
            case ServerEvent():
                return not topics or topic_of(news) in topics


def topic_of(event: ServerEvent) -> str:
    """Return what an event is about, such as `droplet`."""
    told = event.document.get("topic")
    return told if isinstance(told, str) else event.name.partition(".")[0]


@contextmanager
def changes_of(api: Api, say: Callable[[str], None]) -> Iterator[Changes]:
    """Listen in the background until the block ends."""
    news: queue.Queue[News] = queue.Queue()
    ended = threading.Event()
    listener = threading.Thread(target=_listen, args=(api, news, ended), daemon=True)
    listener.start()
    try:
        yield Changes(news, say)
    finally:
        ended.set()


def _listen(api: Api, news: queue.Queue[News], ended: threading.Event) -> None:
    after, wait = "", FIRST_REOPEN_SECONDS
    while not ended.is_set():
        try:
            with api.events({}, after=after) as events:
                news.put(Opened())
                wait = FIRST_REOPEN_SECONDS
                for event in events:
                    after = event.id or after
                    news.put(event)
        except (StreamLost, Failure) as error:
            if ended.is_set():
                return
            news.put(Lost(str(error)))
        pause(wait)
        wait = min(wait * 2, LONGEST_REOPEN_SECONDS)
