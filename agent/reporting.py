"""Making reports from what the ledger and the hypervisor say, and forgetting what was recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from agent import clock
from agent.drivers.base import DriverError, Hypervisor
from agent.journal import Journal
from agent.ledger import Ledger
from agent.numbers import Growing
from agent.protocol.messages import (
    ReportRequest,
    ReportResponse,
    StepProgress,
)
from agent.protocol.observations import Inventory, NodeFacts
from agent.protocol.values import Incarnation
from agent.turns import Turns
from agent.wording import clean

RESULTS_AT_ONCE = 200
LINES_AT_ONCE = 500
"""A report stays well below the edge's limit for a body; what is left comes with the next."""


@dataclass
class Reporter:
    """Composes reports, one after the other. Called from one thread at a time."""

    incarnation: Incarnation
    ledger: Ledger
    journal: Journal
    hypervisor: Hypervisor
    turns: Turns
    sequence: Growing
    _facts: NodeFacts | None = field(default=None, init=False)

    def offer(self, facts: NodeFacts) -> None:
        """Tell these facts with the next report that arrives."""
        self._facts = facts

    def compose(self, *, full: bool) -> ReportRequest:
        """Return the next report; `full` adds the ledger.

        Results are read before the hypervisor is asked: whoever learns that a step is done must
        not learn with it what the node looked like before.
        """
        sequence = self.sequence.next()
        results = self.ledger.results(limit=RESULTS_AT_ONCE)
        progress = self._progress()
        delivery, held = self.ledger.digest() if full else (self.ledger.delivery(), None)
        return ReportRequest(
            incarnation=self.incarnation,
            sequence=sequence,
            delivery=delivery,
            facts=self._due_facts(),
            inventory=self._inventory(),
            ledger=held,
            results=results,
            progress=progress,
            journal=self.journal.read(limit=LINES_AT_ONCE),
        )

    def _progress(self) -> tuple[StepProgress, ...]:
        told = []
        for resource_id, text in self.turns.progress().items():
            entry = self.ledger.find(resource_id)
            steps = entry.steps if entry else ()
            told += [StepProgress(step_id=step.step_id, text=text) for step in steps]
        return tuple(told)

    def _due_facts(self) -> NodeFacts | None:
        return self._facts and self._facts.model_copy(update={"clock": clock.now()})

    def _inventory(self) -> Inventory:
        try:
            return self.hypervisor.inventory()
        except DriverError as error:
            return Inventory(complete=False, problem=clean(str(error)))

    def take(self, request: ReportRequest, response: ReportResponse) -> bool:
        """Forget what was recorded; return whether more is waiting. Raises Rival."""
        self.ledger.meet(response.installation)
        if request.facts is not None and not response.stale:
            self._facts = None
        recorded = set(response.recorded_steps)
        sent = [result for result in request.results if result.step_id in recorded]
        self.ledger.forget_results(sent)
        # Only what this very report carried: a number beyond it would be somebody else's.
        last = request.journal[-1].number if request.journal else 0
        self.journal.forget(through=min(response.journal_through, last))
        return len(request.results) == RESULTS_AT_ONCE or len(request.journal) == LINES_AT_ONCE
