"""A client of the API: JSON in and out, as one person with a token."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from django.http import HttpResponse
from django.test import Client
from django.utils import timezone

from infra.api.tokens import make_token
from inventory.access import actor_for
from inventory.models import User
from operations.intents.call import Call

ROOT = "/api/v1/"


def token_of(user: User, *, scope: str = "write", name: str = "test") -> str:
    """Return a new token of a person."""
    call = Call(actor=actor_for(user), now=timezone.now())
    return make_token(call, user, name=name, scope=scope)[1]


@dataclass
class Api:
    """Asks as the holder of a token; "" asks as nobody."""

    token: str = ""
    client: Client = field(default_factory=Client)

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str = "application/json",
        raw: bytes | str | None = None,
        **headers: str,
    ) -> HttpResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            sent["Authorization"] = f"Bearer {self.token}"
        data = raw if raw is not None else (b"" if body is None else json.dumps(body))
        return self.client.generic(method, ROOT + path, data, content_type, headers=sent)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: object = None, **more: str) -> HttpResponse:
        return self.ask("POST", path, {} if body is None else body, **more)

    def patch(self, path: str, body: object, **more: str) -> HttpResponse:
        return self.ask("PATCH", path, body, **more)

    def delete(self, path: str, body: object = None, **more: str) -> HttpResponse:
        return self.ask("DELETE", path, body, **more)


def pointers(response: HttpResponse) -> dict[str, str]:
    """Return the codes of a problem's fields by pointer."""
    assert response["Content-Type"] == "application/problem+json", response.content
    return {each["pointer"]: each["code"] for each in response.json()["errors"]}
