"""Slowing down whoever keeps sending tokens that do not exist. Per process, in memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from dataclasses import dataclass

FAILURES = 60
WINDOW_SECONDS = 60.0
"""A token has 256 bits, so guessing is hopeless; this only keeps the attempts from costing us."""

REMEMBERED = 10_000


@dataclass(slots=True)
class _Window:
    began: float
    failures: int


class FailureThrottle:
    """Counts failures per address in fixed windows; the oldest addresses are forgotten first."""

    def __init__(self, failures: int = FAILURES, seconds: float = WINDOW_SECONDS) -> None:
        self._most = failures
        self._seconds = seconds
        self._windows: OrderedDict[str, _Window] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, address: str, *, now: float | None = None) -> float:
        """Return for how many seconds the address is not listened to; 0 when it is."""
        at = time.monotonic() if now is None else now
        with self._lock:
            window = self._windows.get(address)
            if window is None or window.failures < self._most:
                return 0.0
            return max(window.began + self._seconds - at, 0.0)

    def fail(self, address: str, *, now: float | None = None) -> None:
        """Count one failure of the address."""
        at = time.monotonic() if now is None else now
        with self._lock:
            window = self._windows.pop(address, None)
            if window is None or at - window.began >= self._seconds:
                window = _Window(at, 0)
            window.failures += 1
            self._windows[address] = window
            while len(self._windows) > REMEMBERED:
                self._windows.popitem(last=False)


TOKEN_FAILURES = FailureThrottle()
