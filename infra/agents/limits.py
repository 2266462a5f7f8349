"""A modest brake on guessing: refusals per peer address."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

REFUSALS = 20
WINDOW_SECONDS = 60.0
ADDRESSES_KEPT = 10_000
"""Enough to see a flood from many addresses, little enough not to become one itself."""


@dataclass
class _Window:
    started: float
    refusals: int


class RefusalLimit:
    """Counts refusals in windows of a minute; monotonic seconds are passed in."""

    def __init__(self, refusals: int = REFUSALS, window: float = WINDOW_SECONDS) -> None:
        self._refusals = refusals
        self._window = window
        self._seen: OrderedDict[str, _Window] = OrderedDict()

    def wait_seconds(self, address: str, *, now: float) -> float:
        """Return how long the address must wait before it is heard again; 0 when it need not."""
        window = self._seen.get(address)
        if window is None or now >= window.started + self._window:
            return 0.0
        return window.started + self._window - now if window.refusals >= self._refusals else 0.0

    def count(self, address: str, *, now: float) -> None:
        """Remember one refusal of the address."""
        window = self._seen.pop(address, None)
        if window is None or now >= window.started + self._window:
            window = _Window(now, 0)
        window.refusals += 1
        self._seen[address] = window
        while len(self._seen) > ADDRESSES_KEPT:
            self._seen.popitem(last=False)
