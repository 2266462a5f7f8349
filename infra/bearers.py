"""Who an API token stands for, outside REST framework's own requests."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from infra.api.authentication import TokenAuthentication
from inventory.access import Actor, actor_for
from inventory.models import User


def bearer_actor(authorization: str) -> Actor | None:
    """Return the person behind an Authorization header, or None when it names nobody."""
    probe = HttpRequest()
    probe.META["HTTP_AUTHORIZATION"] = authorization
    try:
        found = TokenAuthentication().authenticate(Request(probe))
    except AuthenticationFailed:
        return None
    if found is None:
        return None
    user, _token = found
    return actor_for(user) if isinstance(user, User) and user.is_active else None
