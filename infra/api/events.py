"""The stream of changes for programs: whoever has a token, or is signed in."""

from __future__ import annotations

from django.http import HttpRequest

from infra.bearers import bearer_actor
from infra.events import events_view
from infra.sessions import session_actor
from inventory.access import Actor


def stream_actor(request: HttpRequest) -> Actor | None:
    """Return who asks, by token or by session cookie; None for nobody."""
    authorization = request.headers.get("Authorization", "")
    return bearer_actor(authorization) if authorization else session_actor(request)


events = events_view(stream_actor)
