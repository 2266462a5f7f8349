"""The way into every page: signed in, known as an actor, and refusals turned into pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

import structlog
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseBase
from django.utils import timezone
from django_htmx.middleware import HtmxDetails

from inventory.access import Actor, actor_for
from inventory.errors import Forbidden, NotFound
from inventory.models import User
from operations.intents.call import Call

P = ParamSpec("P")
R = TypeVar("R", bound=HttpResponseBase)

MAX_REASON = 500
"""Longer than any reason people give, short enough for a line of the audit journal."""


class PageRequest(HttpRequest):
    """A request of a signed-in person, as page views see it."""

    actor: Actor
    user: User
    htmx: HtmxDetails


def page(
    view: Callable[Concatenate[PageRequest, P], R],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Let only signed-in people in; a foreign object looks like a missing one."""

    @wraps(view)
    def enter(request: PageRequest, *args: P.args, **kwargs: P.kwargs) -> R:
        request.actor = actor_for(request.user)
        try:
            return view(request, *args, **kwargs)
        except NotFound as error:
            raise Http404(str(error)) from error
        except Forbidden as error:
            raise PermissionDenied(str(error)) from error

    return login_required(enter)  # type: ignore[return-value]


def request_id() -> str:
    """Return the id this request has in the logs, or an empty text outside of one."""
    return str(structlog.contextvars.get_contextvars().get("request_id", ""))


def call_of(request: PageRequest, *, dry_run: bool = False) -> Call:
    """Return what an intent is called with on behalf of the person at the browser."""
    return Call(
        actor=request.actor,
        now=timezone.now(),
        reason=request.POST.get("reason", "")[:MAX_REASON].strip(),
        request_id=request_id(),
        dry_run=dry_run,
    )
