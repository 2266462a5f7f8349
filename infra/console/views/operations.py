"""Operations: the list, and one of them with its timeline, its journal and its ways out."""

from __future__ import annotations

from collections.abc import Callable

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from infra.console.context import limits_of
from infra.console.crumbs import trail
from infra.console.doors import PageRequest, call_of, page
from infra.console.listing import PAGE_SIZE, Filter, Option, paging_of, text_of
from infra.console.stories import step_lines, story_of
from inventory.errors import InfraError
from operations.explaining import explain_operation
from operations.intents.call import Call
from operations.intents.operations import (
    access_operation,
    cancel_operation,
    may_cancel,
    retry_operation,
)
from operations.models import Operation
from operations.planning.steps import StepKind
from operations.reads import OperationDetail, OperationFilter, list_operations, read_operation
from operations.transitions import FINISHED_OPERATIONS, OperationState, StepState

MINE = "me"


@page
def operation_list(request: PageRequest) -> HttpResponse:
    """Show operations, newest first, or only the living rows."""
    limits = limits_of(request)
    wanted = OperationFilter(
        text=text_of(request, "q"),
        state=text_of(request, "state"),
        cause=text_of(request, "cause"),
        actor_id=request.actor.user_id if text_of(request, "by") == MINE else None,
        owner_id=limits.owner_id,
        zone_ids=limits.zone_ids,
    )
    found = list_operations(
        request.actor, wanted, after=request.GET.get("after", ""), size=PAGE_SIZE
    )
    filters = _filters(request, wanted)
    context = {
        "operations": found.rows,
        "paging": paging_of(request, found),
        "text": wanted.text,
        "filters": filters,
        "filtered": bool(wanted.text or any(one.value for one in filters)),
    }
    part = "console/operations/rows.html" if request.htmx else "console/operations/list.html"
    return render(request, part, context)


def _filters(request: PageRequest, wanted: OperationFilter) -> list[Filter]:
    states = [Option("open", "under way"), *(Option(state, state) for state in OperationState)]
    causes = [
        Option("person", "a person"),
        Option("drift", "drift repair"),
        Option("retry", "a retry"),
    ]
    return [
        Filter("state", "State", wanted.state, states),
        Filter("cause", "Cause", wanted.cause, causes),
        Filter("by", "By", text_of(request, "by"), [Option(MINE, "me")]),
    ]


@page
def operation_detail(request: PageRequest, key: str) -> HttpResponse:
    """Show one operation, or only its living part."""
    operation = access_operation(request.actor, key)
    detail = read_operation(operation)
    may_change = operation.owner_id is not None and request.actor.may_change(operation.owner_id)
    context = {
        "crumbs": trail(("Operations", "operations"), f"#{operation.public_id}"),
        "operation": operation,
        "detail": detail,
        "story": story_of(detail),
        "explanation": explain_operation(operation),
        "lines": step_lines(detail),
        "may_cancel": may_change and _cancellable(detail),
        "may_retry": may_change
        and operation.resource is not None
        and operation.state in {OperationState.FAILED, OperationState.CANCELLED},
    }
    part = "console/operations/part.html" if request.htmx else "console/operations/detail.html"
    return render(request, part, context)


def _cancellable(detail: OperationDetail) -> bool:
    if detail.operation.state in FINISHED_OPERATIONS or detail.operation.resource is None:
        return False
    on_nodes = [StepState(s.state) for s in detail.steps if s.kind == StepKind.APPLY]
    return may_cancel(on_nodes)


@require_POST
@page
def operation_cancel(request: PageRequest, key: str) -> HttpResponse:
    """Take an operation back of which nothing was sent."""
    return _attempt(request, key, cancel_operation, "cancelled")


@require_POST
@page
def operation_retry(request: PageRequest, key: str) -> HttpResponse:
    """Ask for the same again."""
    return _attempt(request, key, retry_operation, "opened")


def _attempt(
    request: PageRequest,
    key: str,
    intent: Callable[[Call, str], Operation],
    word: str,
) -> HttpResponse:
    try:
        operation = intent(call_of(request), key)
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:operation", key)
    messages.success(request, f"Operation #{operation.public_id} is {word}.")
    return redirect("console:operation", operation.public_id)
