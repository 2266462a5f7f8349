"""How long a node has been silent, by the control plane's own clock. Pure.

While the control plane was away nobody was listening, so no node's silence counts from before
its return.
"""

from __future__ import annotations

from datetime import datetime, timedelta

AWAY_AFTER = timedelta(seconds=30)
"""Sweeps run every few seconds; a longer gap between two means the control plane was away."""


def watching_since(
    watching: datetime | None, last_sweep: datetime | None, *, now: datetime
) -> datetime:
    """Return since when the control plane has been watching without a gap."""
    if watching is None or last_sweep is None or now - last_sweep > AWAY_AFTER:
        return now
    return watching


def silence(last_seen: datetime | None, watching: datetime, *, now: datetime) -> timedelta:
    """Return how long the node has been silent while somebody was listening."""
    heard = watching if last_seen is None else max(last_seen, watching)
    return max(now - heard, timedelta(0))
