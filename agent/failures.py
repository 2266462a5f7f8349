"""What a failed call of a driver means for what is to be done next. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from agent.drivers.base import DriverError, OutcomeUnknown, Rejected
from agent.planning.repair import backoff_seconds

FIRST_REST_SECONDS = 0.5
LONGEST_REST_SECONDS = 60.0

REFUSALS_BORNE = 8
"""A hypervisor that has said no so often in a row, over about two minutes, means it. The person
who waits is better served by an end with its reason."""


@dataclass(frozen=True)
class Trouble:
    """Failures in a row of one droplet. `not_before` is on the steady clock."""

    attempts: int
    not_before: float
    text: str


@dataclass(frozen=True)
class Hopeless:
    """Trying again would not help: the steps end refused with this code."""

    code: str
    text: str


def judge(
    error: DriverError, before: Trouble | None, *, doing: str, steady: float, chance: float
) -> Trouble | Hopeless:
    """Return how to go on after a failure. Not knowing an outcome is never hopeless."""
    attempts = (before.attempts if before else 0) + 1
    if isinstance(error, Rejected):
        return Hopeless(error.code, str(error))
    if not isinstance(error, OutcomeUnknown) and attempts >= REFUSALS_BORNE:
        return Hopeless(error.code, f"{error} (tried {attempts} times)")
    rest = backoff_seconds(
        attempts, chance=chance, first=FIRST_REST_SECONDS, longest=LONGEST_REST_SECONDS
    )
    text = f"{doing} did not work ({error}). It is tried again."
    return Trouble(attempts, steady + rest, text)
