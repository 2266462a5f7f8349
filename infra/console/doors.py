"""The way into every page: signed in, known as an actor, and refusals turned into pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec, TypeVar, cast

import structlog
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers
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
    def enter(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return _ask_to_sign_in(request)
        known = cast("PageRequest", request)
        known.actor = actor_for(known.user)
        try:
            return _kept_private(view(known, *args, **kwargs))
        except NotFound as error:
            raise Http404(str(error)) from error
        except Forbidden as error:
            raise PermissionDenied(str(error)) from error

    return enter  # type: ignore[return-value]  # its first argument is not by position only


def _ask_to_sign_in(request: HttpRequest) -> HttpResponseBase:
    """Lead to the sign-in page; a living part makes its whole page go there."""
    if request.headers.get("HX-Request"):
        return HttpResponse(status=HTTPStatus.NO_CONTENT, headers={"HX-Refresh": "true"})
    return redirect_to_login(request.get_full_path())


def _kept_private(response: R) -> R:
    """Keep pages out of every cache: they are one person's, and some are parts of others."""
    patch_cache_control(response, private=True, no_store=True)
    patch_vary_headers(response, ["HX-Request"])
    return response


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
