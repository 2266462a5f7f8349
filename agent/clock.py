"""The agent's clocks. Only here are they read; everything else is handed the time."""

from __future__ import annotations

import time


def now() -> float:
    """Return the node's own idea of the time, in seconds since 1970. For people to read."""
    return time.time()


def steady() -> float:
    """Return seconds that only go forward, the same in all processes of one machine start."""
    return time.monotonic()
