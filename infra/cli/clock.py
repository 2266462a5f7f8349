"""The only place of the command that reads the clock or waits."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

_NEVER = threading.Event()


def now() -> datetime:
    """Return the present moment in UTC."""
    return datetime.fromtimestamp(time.time(), tz=UTC)


def elapsed() -> float:
    """Return seconds on a clock that only goes forward."""
    return time.monotonic()


def pause(seconds: float) -> None:
    """Wait before the next look; Ctrl-C ends it at once."""
    _NEVER.wait(seconds)
