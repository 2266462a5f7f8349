"""Waiting in tests: for a condition, with a deadline, never for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_until(condition: Callable[[], T], *, seconds: float = 10.0, what: str = "") -> T:
    """Return the first true value of the condition. Fails when `seconds` pass without one."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain for {what or condition}")
        time.sleep(0.01)  # noqa: TID251  the one place where tests pause between two looks
