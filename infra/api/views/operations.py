"""Operations: the list, one in full, cancelling and retrying."""

from __future__ import annotations

from http import HTTPStatus

from django.db.models import Q
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from infra.api.answers import Answer
from infra.api.described import described
from infra.api.endpoint import Endpoint
from infra.api.paging import (
    BY_AGE,
    list_page,
    owner_filter,
    read_wanted,
    text_filter,
    zone_filter,
)
from infra.api.requests import is_true
from infra.api.shapes.base import Listing
from infra.api.shapes.droplets import EmptyBody
from infra.api.shapes.operations import (
    AcceptedOperation,
    OperationDetailShape,
    OperationShape,
    show_accepted,
    show_detail,
    show_operation,
)
from inventory.access import access_resource
from inventory.errors import invalid
from operations.explaining import explain_operation
from operations.intents.call import Call
from operations.intents.operations import access_operation, cancel_operation, retry_operation
from operations.models import Operation
from operations.reads import read_operation, visible_operations
from operations.transitions import OperationState

FILTERS = ("state", "kind", "cause", "owner", "zone", "resource", "parent", "mine", "q")


class OperationListing(Listing[OperationShape]):
    """A page of operations."""


def accepted(operation: Operation) -> Answer:
    """Return the answer to a change: the operation that will make it so."""
    steps = list(operation.steps.select_related("node").order_by("index"))
    children = list(operation.children.order_by("pk")) if operation.resource_id is None else []
    return Answer(
        show_accepted(operation, steps, children),
        HTTPStatus.ACCEPTED,
        operation_id=operation.pk,
    )


def operation_detail(operation: Operation) -> OperationDetailShape:
    """Return all that is known of an operation."""
    return show_detail(read_operation(operation), explain_operation(operation))


class Operations(Endpoint):
    """All operations one may see."""

    @described(OperationListing, filters=FILTERS, orders=BY_AGE)
    def get(self, request: Request) -> HttpResponseBase:
        """List operations, newest first."""
        del request
        http = self.http
        wanted = read_wanted(http, BY_AGE, filters=FILTERS)
        rows = visible_operations(self.actor).select_related("owner")
        rows = rows.filter(text_filter(http, "resource_name"), _state_filter(http.GET.get("state")))
        rows = rows.filter(self._about(http))
        page = list_page(
            rows, wanted, OperationListing, lambda found: [*map(show_operation, found)]
        )
        return self.read(Answer(page))

    def _about(self, http: HttpRequest) -> Q:
        """Return the condition of the filters that name something. Raises NotFound, Invalid."""
        asked = {name: value for name in FILTERS if (value := http.GET.get(name))}
        fits = Q(**{name: asked[name] for name in ("kind", "cause") if name in asked})
        if "resource" in asked:
            fits &= Q(resource_id=access_resource(self.actor, asked["resource"]).pk)
        if "parent" in asked:
            fits &= Q(parent_id=access_operation(self.actor, asked["parent"]).pk)
        if is_true(http, "mine"):
            fits &= Q(actor_id=self.actor.user_id)
        owner, zones = owner_filter(http, self.actor), zone_filter(http, self.actor)
        if owner is not None:
            fits &= Q(owner_id=owner)
        if zones is not None:
            fits &= Q(resource__zone_id__in=zones)
        return fits


def _state_filter(state: str | None) -> Q:
    if not state:
        return Q()
    if state == "open":
        return Q(finished_at__isnull=True)
    if state not in set(OperationState):
        raise invalid(
            "/state", "state", f"Known states are {', '.join([*OperationState, 'open'])}."
        )
    return Q(state=state)


class OperationDetail(Endpoint):
    """One operation."""

    @described(OperationDetailShape, waits=True)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show an operation: steps, journal, and in words what is known and what is safe."""
        del request
        operation = access_operation(self.actor, key)
        return self.read(Answer(operation_detail(operation), operation_id=operation.pk))


class OperationCancel(Endpoint):
    """Taking an operation back."""

    @described(AcceptedOperation, body=EmptyBody, status=202)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Cancel an operation of which nothing was sent; the declaration before comes back."""
        del request
        self.body(EmptyBody)
        return self.write(lambda call: accepted(_joined(call, cancel_operation(call, key))))


class OperationRetry(Endpoint):
    """Trying again."""

    @described(AcceptedOperation, body=EmptyBody, status=202)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Open an operation that failed again, under a newer generation."""
        del request
        self.body(EmptyBody)
        return self.write(lambda call: accepted(retry_operation(call, key)))


def _joined(call: Call, operation: Operation) -> Operation:
    return access_operation(call.actor, operation.pk)
