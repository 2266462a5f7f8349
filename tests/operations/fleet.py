"""A node as the control plane meets it: the wire messages, without a network or an agent."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from agent.protocol.declarations import AbsentDeclaration, DropletDeclaration
from agent.protocol.messages import (
    LedgerEntry,
    PollRequest,
    PollResponse,
    ReportRequest,
    StepOrder,
    StepOutcome,
    StepResult,
)
from agent.protocol.observations import DropletObservation, GuestPower, Inventory, NodeFacts
from agent.protocol.values import Incarnation
from operations.dispatch import take_poll
from operations.observations import take_report


@dataclass
class WireNode:
    """Speaks the protocol for one node, with a ledger in memory."""

    node_id: UUID
    incarnation: Incarnation = field(
        default_factory=lambda: Incarnation(
            id=UUID(int=1), ordinal=1, boot_id="boot", init_started=1
        )
    )
    number: int = 0
    sequence: int = 0
    delivery: int = 0
    held: dict[UUID, StepOrder] = field(default_factory=dict)

    def poll(self, now: datetime, *, lose_answer: bool = False) -> PollResponse | None:
        self.number += 1
        answer = take_poll(
            self.node_id,
            PollRequest(incarnation=self.incarnation, number=self.number, delivery=self.delivery),
            now=now,
        )
        if answer is None or lose_answer:
            return answer
        self.delivery = answer.delivery
        for order in answer.orders:
            self.held[order.declaration.resource_id] = order
        return answer

    def report(self, now: datetime, **parts):
        self.sequence += 1
        return take_report(
            self.node_id,
            ReportRequest(
                incarnation=self.incarnation,
                sequence=self.sequence,
                delivery=self.delivery,
                **parts,
            ),
            now=now,
        )

    def tell_facts(self, now: datetime, *, vcpus=8, memory_mib=8192, disk_gib=100):
        return self.report(
            now,
            facts=NodeFacts(
                agent_version="1",
                address="10.0.0.1",
                vcpus=vcpus,
                memory_mib=memory_mib,
                disk_gib=disk_gib,
                capabilities={"compute": "tcg"},
            ),
        )

    def finish(self, now: datetime, order: StepOrder, *, power: GuestPower | None = None):
        declaration = order.declaration
        observed = None if isinstance(declaration, AbsentDeclaration) else see(declaration, power)
        result = StepResult(
            step_id=order.step_id,
            resource_id=declaration.resource_id,
            generation=declaration.generation,
            outcome=StepOutcome.DONE,
            observed=observed,
        )
        return self.report(
            now,
            results=(result,),
            inventory=Inventory(complete=True, droplets=(observed,) if observed else ()),
        )

    def ledger(self, *, converged: bool = False) -> tuple[LedgerEntry, ...]:
        return tuple(
            LedgerEntry(
                resource_id=key,
                generation=order.declaration.generation,
                absent=isinstance(order.declaration, AbsentDeclaration),
                converged=converged,
            )
            for key, order in self.held.items()
        )


def see(declaration: DropletDeclaration, power: GuestPower | None = None) -> DropletObservation:
    return DropletObservation(
        resource_id=declaration.resource_id,
        generation=declaration.generation,
        power=power or GuestPower(declaration.power.value),
        vcpus=declaration.vcpus,
        memory_mib=declaration.memory_mib,
        disk_gib=declaration.disk_gib,
        restarts=declaration.restarts,
        rebuilds=declaration.rebuilds,
    )
