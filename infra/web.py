"""What the web process speaks: HTTP goes to Django, a WebSocket is a serial console."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import cast
from uuid import UUID

from django.conf import settings
from django.core.handlers.asgi import ASGIHandler

from infra.api.front import serve_http
from infra.console_doors import Door, cookie_door, token_door
from infra.consoles import Consoles
from infra.database_threads import web_threads
from infra.http import Application, Receive, Scope, Send, text_of
from infra.relay import Relay

_ID = r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
_DOORS: Mapping[re.Pattern[str], Callable[[Scope, UUID], Door]] = {
    re.compile(rf"/console/ws/droplets/{_ID}/?"): cookie_door,
    re.compile(rf"/api/v1/droplets/{_ID}/console/?"): token_door,
}


class Web:
    """The application of the web process."""

    def __init__(self, django_application: ASGIHandler) -> None:
        self._django = cast("Application", django_application)
        self._consoles = Consoles(Relay(settings.ENVIRONMENT.redis()), web_threads())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await serve_http(self._django, scope, receive, send)
            return
        door = _door_for(scope)
        if door is None:
            await receive()  # websocket.connect
            await send({"type": "websocket.close"})
            return
        await self._consoles.serve(door, scope, receive, send)


def _door_for(scope: Scope) -> Door | None:
    path = text_of(scope, "path")
    for pattern, door in _DOORS.items():
        match = pattern.fullmatch(path)
        if match is not None:
            return door(scope, UUID(match[1]))
    return None
