"""Who a browser's session cookie stands for, asked anew each time."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest

from inventory.access import Actor, actor_for
from inventory.models import User


def session_actor(request: HttpRequest) -> Actor | None:
    """Return the signed-in person of a request, or None. Reads session and person again."""
    return cookie_actor(request.COOKIES)


def cookie_actor(cookies: Mapping[str, str]) -> Actor | None:
    """Return the person whose session the cookies carry, if it still holds; else None."""
    key = cookies.get(settings.SESSION_COOKIE_NAME)
    if not key:
        return None
    probe = HttpRequest()
    probe.session = import_module(settings.SESSION_ENGINE).SessionStore(key)
    user = get_user(probe)
    return actor_for(user) if isinstance(user, User) and user.is_active else None
