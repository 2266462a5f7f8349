"""Taking what a node reports: facts, inventories, results, its ledger and its journal.

The one writer of what was seen. Every row is guarded by (incarnation ordinal, sequence), so
reports may be repeated, delayed or arrive in any order.
"""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from django.db import transaction

from agent.protocol.messages import (
    LedgerEntry,
    ReportRequest,
    ReportResponse,
    StepOutcome,
    StepProgress,
    StepResult,
)
from agent.protocol.observations import NodeFacts
from inventory.models import Node, NodeJournal, NodeLink
from operations.dispatch import installation_identity
from operations.journal import Because, record
from operations.locks import lock_link, lock_resource
from operations.models import Step
from operations.outbox import publish, wake_worker
from operations.planning.settling import NOTHING, LedgerFacts, settle
from operations.reservations import look_for_room
from operations.sealing import seal
from operations.seen import take_inventory
from operations.transitions import IN_FLIGHT, StepEvent, StepState


def take_report(node_id: UUID, request: ReportRequest, *, now: datetime) -> ReportResponse:
    """Record a report and return what the agent may forget.

    Results and journal lines count whatever their order; facts, inventory and ledger only when
    the report is newer than the last one taken.
    """
    with transaction.atomic():
        link = lock_link(node_id)
        fresh = _is_fresh(link, request)
        _take_journal(link, request, now=now)
        if fresh:
            _take_freshness(link, request, now=now)
        link.save()
    recorded = tuple(_take_result(node_id, result, now=now) for result in request.results)
    if fresh:
        _take_state(node_id, request, now=now)
    return ReportResponse(
        installation=installation_identity(),
        recorded_steps=recorded,
        journal_through=link.journal_through,
        stale=not fresh,
    )


def _is_fresh(link: NodeLink, request: ReportRequest) -> bool:
    ordinal = request.incarnation.ordinal
    return (ordinal, request.sequence) > (link.incarnation_ordinal, link.sequence)


def _take_freshness(link: NodeLink, request: ReportRequest, *, now: datetime) -> None:
    incarnation = request.incarnation
    if incarnation.ordinal > link.incarnation_ordinal:
        link.incarnation_id = incarnation.id
        link.incarnation_ordinal = incarnation.ordinal
        link.boot_id = incarnation.boot_id
        link.init_started = incarnation.init_started
        link.poll_number = 0
    link.sequence = request.sequence
    link.last_seen = now
    if request.ledger is not None:
        link.ledger_wanted = link.ledger_asked = False
    if request.inventory is not None and request.inventory.complete:
        link.inventory_at = now
    if request.facts is not None and request.facts.clock:
        link.clock_offset_seconds = request.facts.clock - now.timestamp()


def _take_journal(link: NodeLink, request: ReportRequest, *, now: datetime) -> None:
    lines = [line for line in request.journal if line.number > link.journal_through]
    NodeJournal.objects.bulk_create(
        [
            NodeJournal(
                node_id=link.node_id,
                number=line.number,
                at=datetime.fromtimestamp(line.at, UTC),
                received_at=now,
                severity=line.severity[:16],
                event=line.event[:100],
                message=line.message,
                resource_id=line.resource_id,
                step_id=line.step_id,
            )
            for line in lines
        ],
        ignore_conflicts=True,
    )
    if lines:
        link.journal_through = max(line.number for line in lines)


def _take_state(node_id: UUID, request: ReportRequest, *, now: datetime) -> None:
    order = (request.incarnation.ordinal, request.sequence)
    if request.facts is not None:
        _take_facts(node_id, request.facts, now=now)
    if request.inventory is not None or request.ledger is not None:
        take_inventory(node_id, request.inventory, request.ledger, order=order, now=now)
    if request.ledger is not None:
        _settle_in_flight(node_id, request, now=now)
    for progress in request.progress:
        _take_progress(node_id, progress, now=now)


def _take_facts(node_id: UUID, facts: NodeFacts, *, now: datetime) -> None:
    with transaction.atomic():
        node = Node.objects.select_for_update(no_key=True, of=("self",)).get(pk=node_id)
        told = {
            "address": facts.address[:255],
            "agent_version": facts.agent_version[:50],
            "vcpus": facts.vcpus,
            "memory_mib": facts.memory_mib,
            "disk_gib": facts.disk_gib,
            "capabilities": facts.capabilities,
            "problems": facts.problems,
            "details": facts.details,
        }
        changed = [name for name, value in told.items() if getattr(node, name) != value]
        if not changed:
            return
        for name in changed:
            setattr(node, name, told[name])
        node.save(update_fields=changed)
        publish("node", "facts", node.pk, now=now)
        look_for_room(now=now)


def _take_result(node_id: UUID, result: StepResult, *, now: datetime) -> UUID:
    """Record the end of one step; return its id, also when it is one we do not know (any more)."""
    found = Step.objects.filter(pk=result.step_id, node_id=node_id).values_list(
        "operation__resource_id", flat=True
    )
    resource_id = found.first()
    if resource_id is None:
        return result.step_id
    with transaction.atomic():
        lock_resource(resource_id)
        step = Step.objects.select_related("operation").get(pk=result.step_id)
        sent = (step.epoch, step.generation)
        if sent != (result.generation.epoch, result.generation.counter):
            # The step was sealed and sent again since; only the newer order can end it.
            return result.step_id
        if step.state in IN_FLIGHT:
            event, because = _event_of(result)
            record(step, event, because, now=now)
            wake_worker(step.operation_id)
    return result.step_id


def _event_of(result: StepResult) -> tuple[StepEvent, Because]:
    evidence: dict[str, object] = {
        "generation": str(result.generation),
        "observed": result.observed.model_dump(mode="json") if result.observed else None,
    }
    if result.outcome == StepOutcome.DONE:
        text = result.message or "The agent reports that the node matches the declaration."
        return StepEvent.CONFIRM, Because(text, evidence)
    because = Because(result.message or "The agent refused it.", evidence, result.reason)
    if result.reason == "superseded":
        return StepEvent.SUPERSEDE, because
    return StepEvent.REFUSE, because


def _take_progress(node_id: UUID, progress: StepProgress, *, now: datetime) -> None:
    changed = (
        Step.objects.filter(pk=progress.step_id, node_id=node_id, state__in=IN_FLIGHT)
        .exclude(progress=progress.text)
        .update(progress=progress.text)
    )
    if changed:
        step = Step.objects.select_related("operation").get(pk=progress.step_id)
        publish(
            "operation",
            "progress",
            step.operation_id,
            now=now,
            owner_id=step.operation.owner_id,
            operation_id=step.operation_id,
        )


def _settle_in_flight(node_id: UUID, request: ReportRequest, *, now: datetime) -> None:
    """End uncertainty about what was sent before the ledger was read, from that ledger.

    A step that went out in a later delivery than the agent had written down when it read its
    ledger is not spoken of by it, unless it is already known to be lost.
    """
    entries = {entry.resource_id: entry for entry in request.ledger or ()}
    doubtful = Step.objects.filter(node_id=node_id, state=StepState.UNKNOWN).values_list(
        "pk", "operation__resource_id"
    )
    for step_id, resource_id in list(doubtful):
        with transaction.atomic():
            resource = lock_resource(resource_id)
            step = Step.objects.select_related("operation").get(pk=step_id)
            if resource is None or step.state != StepState.UNKNOWN:
                continue
            ledger = _ledger_facts(entries.get(resource_id))
            settled = settle((step.epoch, step.generation), resource.absent, ledger)
            evidence: dict[str, object] = {
                "ledger_generation": list(ledger.generation),
                "incarnation": str(request.incarnation.id),
                "sequence": request.sequence,
            }
            record(step, settled.event, Because(settled.text, evidence), now=now)
            if settled.seal:
                seal(step, resource, now=now)
            wake_worker(step.operation_id)


def _ledger_facts(entry: LedgerEntry | None) -> LedgerFacts:
    if entry is None:
        return NOTHING
    return LedgerFacts(
        (entry.generation.epoch, entry.generation.counter), entry.absent, entry.converged
    )
