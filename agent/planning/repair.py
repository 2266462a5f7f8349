"""When the agent may act without being told, and how long it rests after a failure. Pure."""

from __future__ import annotations

from enum import StrEnum

REPAIR_AFTER_SECONDS = 30.0
"""As long as the control plane has been heard within this, repairs are its decision: they are
then operations that people see. After it, nobody else is there to decide."""


class Licence(StrEnum):
    """Why the agent may act on a droplet now, or that it may not."""

    ORDERED = "ordered"
    CUT_OFF = "cut_off"
    NONE = "none"


def may_repair_locally(link_silent_seconds: float, *, after_seconds: float) -> bool:
    """Return whether nobody else can decide about a repair."""
    return link_silent_seconds >= after_seconds


def licence(
    *,
    ordered: bool,
    absent: bool,
    reached: bool,
    link_silent_seconds: float,
    after_seconds: float = REPAIR_AFTER_SECONDS,
) -> Licence:
    """Return why the agent may make the node match a declaration.

    `ordered` says that a step asks for it and has not ended; `reached` that the node has matched
    it before. What was removed once and is back was brought back by somebody: without an order it
    is told of and left alone.
    """
    if ordered:
        return Licence.ORDERED
    if absent and reached:
        return Licence.NONE
    if may_repair_locally(link_silent_seconds, after_seconds=after_seconds):
        return Licence.CUT_OFF
    return Licence.NONE


def backoff_seconds(attempt: int, *, chance: float, first: float, longest: float) -> float:
    """Return how long to rest after the given failed attempt in a row (1, 2, ...).

    Doubles each time up to `longest`; `chance` in [0, 1) takes up to half of it away, so that
    many do not come back at one moment.
    """
    doublings = min(max(attempt, 1) - 1, 30)
    whole = min(longest, first * float(1 << doublings))
    return float(whole * (1.0 - chance / 2))
