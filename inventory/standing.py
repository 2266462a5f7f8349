"""How a droplet stands, in one word and a sentence: what is wanted beside what was seen. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class StandingState(StrEnum):
    """The one word of a droplet in a list."""

    RUNNING = "running"
    STOPPED = "stopped"
    WAITING = "waiting"
    CHANGING = "changing"
    RECONCILING = "reconciling"
    DIFFERS = "differs"
    CRASHED = "crashed"
    PAUSED = "paused"
    UNSEEN = "unseen"
    DELETING = "deleting"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class Sight:
    """What a node last showed of a droplet, and the control plane's time of that report."""

    power: str
    absent: bool
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class OpenChange:
    """The newest operation of a droplet that has not ended."""

    kind: str
    state: str
    waiting_on: str


@dataclass(frozen=True, slots=True)
class Facts:
    """All that the word depends on. `node` is empty while the droplet has no place."""

    declared_power: str
    declared_absent: bool
    gone: bool
    node: str
    node_unreachable: bool
    sight: Sight | None
    change: OpenChange | None


@dataclass(frozen=True, slots=True)
class Standing:
    """The word, and why, for a person."""

    state: StandingState
    why: str


def standing(facts: Facts) -> Standing:
    """Return how a droplet stands; what is not known is never guessed."""
    if facts.gone:
        return Standing(StandingState.DELETED, "Gone; its node showed that nothing is left.")
    if facts.change is not None and facts.change.state == "reconciling":
        return Standing(
            StandingState.RECONCILING,
            f"An order was sent to {facts.node or 'its node'} and the answer is not known yet.",
        )
    if facts.node and facts.node_unreachable:
        return Standing(StandingState.UNSEEN, _unreachable(facts))
    if facts.declared_absent:
        return Standing(StandingState.DELETING, "Being deleted; waits for its node to show so.")
    if not facts.node:
        return _without_place(facts)
    if facts.change is not None:
        return Standing(StandingState.CHANGING, _changing(facts.change))
    return _settled(facts)


def _unreachable(facts: Facts) -> str:
    seen = "It was never seen there." if facts.sight is None else f"Last seen {facts.sight.power}."
    return f"Node {facts.node} is not reachable, so how it stands is not known. {seen}"


def _without_place(facts: Facts) -> Standing:
    waiting_on = facts.change.waiting_on if facts.change else ""
    if waiting_on:
        return Standing(StandingState.WAITING, waiting_on)
    return Standing(StandingState.CHANGING, "A place is being looked for.")


def _changing(change: OpenChange) -> str:
    verb = change.kind.rpartition(".")[2]
    return change.waiting_on or f"The operation {verb} is under way."


def _settled(facts: Facts) -> Standing:
    if facts.sight is None:
        return Standing(StandingState.UNSEEN, f"Node {facts.node} has not reported it yet.")
    if facts.sight.absent:
        return Standing(StandingState.DIFFERS, f"Node {facts.node} no longer has it.")
    seen = facts.sight.power
    if seen == facts.declared_power:
        return Standing(StandingState(seen), f"On {facts.node}, as declared.")
    if seen in {StandingState.CRASHED, StandingState.PAUSED}:
        return Standing(StandingState(seen), f"The guest is {seen} on {facts.node}.")
    return Standing(
        StandingState.DIFFERS,
        f"Declared {facts.declared_power}, but seen {seen or 'unclear'} on {facts.node}.",
    )
