"""What a step whose end is unknown came to, from what its agent's ledger says. Pure.

The ledger is evidence of the order's arrival, the agent's results and observations of its effect.
Time is evidence of nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from operations.transitions import StepEvent

Number = tuple[int, int]


@dataclass(frozen=True)
class LedgerFacts:
    """What the agent's ledger holds for the resource; all zero when it holds nothing."""

    generation: Number
    absent: bool
    converged: bool


@dataclass(frozen=True)
class Settled:
    """The event that the evidence supports, and the sentence that says so."""

    event: StepEvent
    text: str
    seal: bool = False


NOTHING = LedgerFacts((0, 0), absent=False, converged=False)


def settle(sent: Number, wants_absent: bool, ledger: LedgerFacts) -> Settled:  # noqa: FBT001
    """Return what became of a step that was sent under a generation.

    `seal` asks for a newer generation before sending again, so that the lost order is refused
    should it still arrive.
    """
    if ledger.generation > sent:
        return Settled(
            StepEvent.SUPERSEDE,
            f"The agent holds the newer generation {_text(ledger.generation)}, "
            "so it refuses this one.",
        )
    if ledger.generation < sent:
        return Settled(
            StepEvent.FIND_UNDONE,
            "The agent's ledger has never seen this generation: it holds "
            f"{_text(ledger.generation)}. It is sent again under a newer one, so that the lost "
            "order is refused should it still arrive.",
            seal=True,
        )
    if ledger.absent == wants_absent and ledger.converged:
        return Settled(
            StepEvent.CONFIRM,
            f"The agent's ledger holds generation {_text(sent)} and the node matches it.",
        )
    return Settled(
        StepEvent.ACKNOWLEDGE,
        f"The agent's ledger holds generation {_text(sent)}; the node does not match it yet.",
    )


def _text(generation: Number) -> str:
    return f"{generation[0]}.{generation[1]}" if generation > (0, 0) else "nothing"
