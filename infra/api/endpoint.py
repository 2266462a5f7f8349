"""The one way through which every request of the API goes: who, what, once, and the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TypeVar, cast

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from pydantic import BaseModel, ValidationError
from rest_framework.authentication import SessionAuthentication
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.permissions import IsAuthenticated
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from infra.api.answers import Answer, to_http
from infra.api.authentication import TokenAuthentication, actor_behind
from infra.api.bodies import check_is_object, is_storable, parse_json
from infra.api.errors import RequestRefused, handle
from infra.api.idempotency import Claim, claim, digest_of, keep
from infra.api.openapi import Schema
from infra.api.requests import (
    expected_revision,
    idempotency_key,
    is_true,
    request_id,
    stated_reason,
)
from inventory.access import Actor
from inventory.errors import Forbidden, Invalid, NotFound, invalid
from inventory.models import User
from inventory.specs.base import field_errors
from operations.audit import record_audit
from operations.intents.call import Call

Body = TypeVar("Body", bound=BaseModel)
Act = Callable[[Call], Answer]

JSON_TYPES = frozenset({"application/json", "application/merge-patch+json"})
DRY_RUN = "Infra-Dry-Run"


class AnyAccept(DefaultContentNegotiation):
    """Answers JSON whatever is asked for: it is all there is (RFC 9110, 12.1)."""

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        del request, format_suffix
        return next(iter(renderers)), "application/json"


class Endpoint(APIView):
    """Base of all endpoints. Methods call `read` or `write` and return what those return."""

    authentication_classes = [TokenAuthentication, SessionAuthentication]
    permission_classes = [IsAuthenticated]
    content_negotiation_class = AnyAccept
    schema = Schema()
    body_types: frozenset[str] = JSON_TYPES

    def get_exception_handler(self) -> Callable[..., HttpResponse]:
        return handle

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        """Authenticate, and refuse addresses and parameters that no text can be."""
        super().initial(request, *args, **kwargs)
        for key in kwargs.values():
            if isinstance(key, str) and not is_storable(key):
                raise NotFound("object", key.encode("ascii", "backslashreplace").decode())
        for name, values in request.GET.lists():
            if not all(map(is_storable, [name, *values])):
                raise invalid("", "text", "A parameter holds characters that cannot be text.")

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """Return the problem document; the audit journal keeps refusals for want of rights."""
        if isinstance(exc, Forbidden):
            self._record_denial(exc)
        return cast(HttpResponse, super().handle_exception(exc))

    @property
    def actor(self) -> Actor:
        """Return who asks; read once per request."""
        found: Actor | None = getattr(self, "_actor", None)
        if found is None:
            found = actor_behind(self.request.user, self.request.auth)
            if found is None:  # pragma: no cover  IsAuthenticated has seen to it
                raise NotFound("person", "")
            self._actor = found
        return found

    @property
    def http(self) -> HttpRequest:
        """Return the request as Django has it."""
        found: HttpRequest = self.request._request  # noqa: SLF001  REST framework's own door
        return found

    @property
    def user(self) -> User:
        return cast(User, self.request.user)

    def read(self, answer: Answer) -> HttpResponse:
        """Return an answer that changed nothing."""
        return to_http(answer, self.http)

    def write(self, act: Act) -> HttpResponseBase:
        """Do it in one transaction, once per Idempotency-Key; a dry run leaves nothing behind."""
        http = self.http
        dry_run = is_true(http, "dry_run")
        key = idempotency_key(http)
        call = self._call(http)
        with transaction.atomic():
            if not key or dry_run:
                response = to_http(act(call), http)
            else:
                response = self._once(key, act, call, http)
            if dry_run:
                transaction.set_rollback(True)
                response = _as_dry_run(response)
        return response

    def _once(self, key: str, act: Act, call: Call, http: HttpRequest) -> HttpResponse:
        claimed = claim(self.user.pk, key, digest_of(http, self.raw_body), now=call.now)
        if not isinstance(claimed, Claim):
            return claimed
        answer = act(call)
        response = to_http(answer, http)
        keep(claimed, response, secret=answer.secret)
        return response

    def _call(self, http: HttpRequest) -> Call:
        return Call(
            actor=self.actor,
            now=timezone.now(),
            reason=stated_reason(http),
            request_id=request_id(),
            expected_revision=expected_revision(http),
        )

    @property
    def raw_body(self) -> bytes:
        return self.http.body

    def document(self) -> object:
        """Return the JSON body. Raises RequestRefused, Malformed, Invalid."""
        body = self.raw_body
        media_type = (self.request.content_type or "").partition(";")[0].strip().lower()
        if body and media_type not in self.body_types:
            known = ", ".join(sorted(self.body_types))
            raise RequestRefused(
                HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
                "unsupported_media_type",
                f"The body must be of the type {known}.",
            )
        return parse_json(body) if body else {}

    def body(self, shape: type[Body]) -> Body:
        """Return the body as a shape. Raises Invalid with a pointer for each field in error."""
        return parse_body(shape, self.document())

    def _record_denial(self, error: Forbidden) -> None:
        http = self.http
        call = Call(actor=self.actor, now=timezone.now(), request_id=request_id())
        after: dict[str, object] = {"method": http.method or "", "path": http.path[:500]}
        record_audit(
            call, f"denied: {error.action}"[:100], kind="", object_id=None,
            name=error.subject[:100], after=after,
        )  # fmt: skip


def parse_body(shape: type[Body], document: object) -> Body:
    """Return the document as a shape; a number is no text, nor the reverse. Raises Invalid."""
    # In JSON mode strictness still takes lists for tuples and words for enums.
    text = json.dumps(check_is_object(document))
    try:
        return shape.model_validate_json(text, strict=True)
    except ValidationError as error:
        raise Invalid(field_errors(error, "")) from None


def _as_dry_run(response: HttpResponse) -> HttpResponse:
    if response.status_code in {HTTPStatus.ACCEPTED, HTTPStatus.CREATED}:
        response.status_code = HTTPStatus.OK
    del response["Location"]
    response[DRY_RUN] = "true"
    return response
