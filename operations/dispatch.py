"""Handing steps out to a node's agent, in the answer to its poll.

Sending is recorded and committed before the answer leaves. A later poll of the same node that
does not name the delivery proves that the answer was lost; what came of it is then unknown until
the agent's ledger has been seen.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agent.protocol.messages import PollRequest, PollResponse, StepOrder
from agent.protocol.values import InstallationIdentity
from inventory.models import Installation, NodeLink, Resource
from operations.declarations import declaration_of
from operations.journal import Because, record
from operations.locks import lock_link, lock_resource
from operations.models import Step
from operations.transitions import StepEvent, StepState

ORDERS_PER_ANSWER = 16
"""An agent works on a few at a time; the rest comes with its next poll, milliseconds later."""


def take_poll(node_id: UUID, request: PollRequest, *, now: datetime) -> PollResponse | None:
    """Return work for the node, or None when there is none yet and the poll may wait on.

    Called again with the same request while the poll waits. Only the newest poll of the newest
    incarnation is served; an older one is told that it is superseded.
    """
    with transaction.atomic():
        link = lock_link(node_id)
        if not _is_newest(link, request):
            return _answer(link, superseded=True)
        first_look = _meet(link, request, now=now)
        if first_look:
            _acknowledge(node_id, request.delivery, now=now)
            if _lose_undelivered(node_id, request.delivery, now=now):
                link.ledger_wanted, link.ledger_asked = True, False
        orders = _claim(node_id, link.delivery + 1, now=now)
        if orders:
            link.delivery += 1
        ask = link.ledger_wanted and not link.ledger_asked
        link.ledger_asked = link.ledger_wanted
        link.save()
    if not orders and not ask:
        return None
    return _answer(link, orders=orders, ledger_wanted=link.ledger_wanted)


def _is_newest(link: NodeLink, request: PollRequest) -> bool:
    incarnation = request.incarnation
    if incarnation.ordinal != link.incarnation_ordinal:
        return incarnation.ordinal > link.incarnation_ordinal
    return request.number >= link.poll_number


def _meet(link: NodeLink, request: PollRequest, *, now: datetime) -> bool:
    """Remember who polls; return whether this poll is seen for the first time."""
    incarnation = request.incarnation
    new_life = incarnation.ordinal > link.incarnation_ordinal
    if new_life:
        link.incarnation_id = incarnation.id
        link.incarnation_ordinal = incarnation.ordinal
        link.boot_id = incarnation.boot_id
        link.init_started = incarnation.init_started
        link.sequence = 0
        link.ledger_wanted, link.ledger_asked = True, False
    first_look = new_life or request.number > link.poll_number
    link.poll_number = request.number
    link.delivered = request.delivery
    # An agent that kept its ledger may name a delivery that a restored database never gave.
    link.delivery = max(link.delivery, request.delivery)
    link.last_seen = now
    return first_look


def _acknowledge(node_id: UUID, delivery: int, *, now: datetime) -> None:
    sent = Step.objects.filter(node_id=node_id, state=StepState.SENT, delivery__lte=delivery)
    because = Because(f"The agent wrote delivery {delivery} to its ledger.", {"delivery": delivery})
    _record_each(
        sent,
        StepState.SENT,
        StepEvent.ACKNOWLEDGE,
        because,
        now=now,
    )


def _lose_undelivered(node_id: UUID, delivery: int, *, now: datetime) -> int:
    lost = Step.objects.filter(node_id=node_id, state=StepState.SENT, delivery__gt=delivery)
    because = Because(
        f"The agent's next poll names delivery {delivery} as its last: the answer that carried "
        "this step did not arrive, as far as the agent says.",
        {"delivered": delivery},
    )
    return _record_each(
        lost,
        StepState.SENT,
        StepEvent.LOSE,
        because,
        now=now,
    )


def _record_each(
    steps: QuerySet[Step],
    expected: StepState,
    event: StepEvent,
    because: Because,
    *,
    now: datetime,
) -> int:
    """Move each step under its resource's lock, if it still is where it was seen."""
    moved = 0
    for step_id, resource_id in list(steps.values_list("pk", "operation__resource_id")):
        if resource_id is not None:
            lock_resource(resource_id)
        step = Step.objects.select_related("operation").get(pk=step_id)
        if step.state == expected:
            record(step, event, because, now=now)
            moved += 1
    return moved


def _claim(node_id: UUID, delivery: int, *, now: datetime) -> tuple[StepOrder, ...]:
    """Claim steps that are ready for the node; those whose resource is busy wait for the next."""
    ready = Step.objects.filter(node_id=node_id, state=StepState.UNSENT, ready=True)
    resource_ids = list(ready.order_by("pk").values_list("operation__resource_id", flat=True)[:64])
    if not resource_ids:
        return ()
    resources = list(
        Resource.objects.select_for_update(no_key=True, of=("self",), skip_locked=True)
        .filter(pk__in=resource_ids)
        .order_by("pk")[:ORDERS_PER_ANSWER]
    )
    orders: list[StepOrder] = []
    for resource in resources:
        mine = ready.filter(operation__resource=resource).select_related("operation")
        orders += [_send(step, resource, delivery, now=now) for step in mine.order_by("pk")]
    return tuple(orders)


def _send(step: Step, resource: Resource, delivery: int, *, now: datetime) -> StepOrder:
    step.delivery = delivery
    step.epoch, step.generation = resource.epoch, resource.generation
    because = Because(
        f"Sent to the node as generation {resource.epoch}.{resource.generation}.",
        {"delivery": delivery, "generation": f"{resource.epoch}.{resource.generation}"},
    )
    record(step, StepEvent.SEND, because, now=now)
    return StepOrder(
        step_id=step.pk, operation_id=step.operation_id, declaration=declaration_of(resource)
    )


def installation_identity() -> InstallationIdentity:
    """Return who this control plane is. Raises Installation.DoesNotExist before set-up."""
    row = Installation.objects.get()
    return InstallationIdentity(id=row.pk, epoch=row.epoch, token=row.token)


def _answer(
    link: NodeLink,
    *,
    orders: tuple[StepOrder, ...] = (),
    ledger_wanted: bool = False,
    superseded: bool = False,
) -> PollResponse:
    return PollResponse(
        installation=installation_identity(),
        delivery=link.delivery,
        orders=orders,
        ledger_wanted=ledger_wanted,
        superseded=superseded,
    )
