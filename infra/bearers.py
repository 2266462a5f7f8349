"""Who an API token stands for, outside REST framework's own requests."""

from __future__ import annotations

from django.http import HttpRequest
from rest_framework.exceptions import APIException
from rest_framework.request import Request

from infra.api.authentication import TokenAuthentication, actor_behind
from inventory.access import Actor


def bearer_actor(authorization: str) -> Actor | None:
    """Return the actor behind an Authorization header, or None when it names nobody."""
    probe = HttpRequest()
    probe.META["HTTP_AUTHORIZATION"] = authorization
    try:
        found = TokenAuthentication().authenticate(Request(probe))
    except APIException:
        return None
    return actor_behind(*found) if found is not None else None
