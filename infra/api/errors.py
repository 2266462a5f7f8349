"""Refusals become RFC 9457 problem documents. Only this module knows status codes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from http import HTTPStatus

import structlog
from django.core.exceptions import RequestDataTooBig, SuspiciousOperation
from django.db import DataError, IntegrityError, OperationalError
from django.http import Http404, HttpResponse
from django.http.request import UnreadablePostError
from pydantic import BaseModel, Field
from rest_framework import exceptions

from infra.api.bodies import MAX_BODY_BYTES, Malformed
from infra.api.requests import request_id
from inventory.errors import (
    Conflict,
    FieldError,
    Forbidden,
    InfraError,
    Invalid,
    NotFound,
    RevisionMismatch,
)
from operations.enrolment import IdentityRefused

PROBLEM_TYPE = "application/problem+json"
LOCK_NOT_AVAILABLE, DEADLOCK, CANCELLED = "55P03", "40P01", "57014"
BUSY_SECONDS = 2

_log = structlog.get_logger(__name__)


class ProblemField(BaseModel):
    """What is wrong with one field."""

    pointer: str = Field(description="JSON pointer (RFC 6901) into the request body")
    code: str = Field(description="permanent code of the rule that is broken")
    detail: str


class Problem(BaseModel):
    """A refusal (RFC 9457). `code` is permanent; `detail` is for people and may change."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    request_id: str
    errors: list[ProblemField] = []
    facts: dict[str, str] = Field(default={}, description="typed facts of the refusal")


class RequestRefused(InfraError):
    """The HTTP request itself cannot be served: its headers, its type, its size."""

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.title = status.phrase
        self.headers = dict(headers or {})


STATUSES: Mapping[type[InfraError], HTTPStatus] = {
    Malformed: HTTPStatus.BAD_REQUEST,
    Invalid: HTTPStatus.UNPROCESSABLE_ENTITY,
    NotFound: HTTPStatus.NOT_FOUND,
    Forbidden: HTTPStatus.FORBIDDEN,
    Conflict: HTTPStatus.CONFLICT,
    IdentityRefused: HTTPStatus.CONFLICT,
    RevisionMismatch: HTTPStatus.PRECONDITION_FAILED,
}

CODES: Mapping[int, str] = {
    HTTPStatus.UNAUTHORIZED: "not_authenticated",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.NOT_ACCEPTABLE: "not_acceptable",
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: "unsupported_media_type",
    HTTPStatus.TOO_MANY_REQUESTS: "too_many_requests",
}


def problem(
    status: HTTPStatus | int,
    code: str,
    detail: str,
    *,
    title: str = "",
    errors: tuple[FieldError, ...] = (),
    facts: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> HttpResponse:
    """Return the problem document as an answer."""
    document = Problem(
        type=f"urn:infra:problem:{code}",
        title=title or HTTPStatus(status).phrase,
        status=int(status),
        code=code,
        detail=detail,
        request_id=request_id(),
        errors=[
            ProblemField(pointer=error.pointer, code=error.code, detail=error.message)
            for error in errors
        ],
        facts=dict(facts or {}),
    )
    answer = HttpResponse(document.model_dump_json(), status=int(status), content_type=PROBLEM_TYPE)
    for name, value in (headers or {}).items():
        answer[name] = value
    answer["Cache-Control"] = "no-store"
    return answer


def handle(error: Exception, context: object) -> HttpResponse:
    """Return the answer for anything an endpoint raises. Never raises."""
    del context
    if isinstance(error, RequestRefused):
        return problem(error.status, error.code, str(error), headers=error.headers)
    if isinstance(error, InfraError):
        return _refusal(error)
    if isinstance(error, exceptions.APIException):
        return _framework(error)
    if isinstance(error, Http404):
        return problem(HTTPStatus.NOT_FOUND, "not_found", "There is nothing at this address.")
    return _unforeseen(error)


def _refusal(error: InfraError) -> HttpResponse:
    status = next(
        (STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES),
        HTTPStatus.CONFLICT,
    )
    return problem(
        status,
        error.code,
        str(error),
        title=error.title,
        errors=error.errors if isinstance(error, Invalid) else (),
        facts=error.fields,
    )


def _framework(error: exceptions.APIException) -> HttpResponse:
    headers: dict[str, str] = {}
    challenge = getattr(error, "auth_header", None)
    if challenge:
        headers["WWW-Authenticate"] = str(challenge)
    wait = getattr(error, "wait", None)
    if wait is not None:
        headers["Retry-After"] = str(math.ceil(wait))
    code = CODES.get(error.status_code, "refused")
    return problem(error.status_code, code, str(error.detail), headers=headers)


def _unforeseen(error: Exception) -> HttpResponse:
    """Return the answer for what the database or Django refuses; 500 only for our own mistakes."""
    if isinstance(error, RequestDataTooBig):
        return problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
            "too_large",
            f"A body has at most {MAX_BODY_BYTES} bytes. Nothing changed.",
        )
    if isinstance(error, UnreadablePostError | SuspiciousOperation):
        return problem(HTTPStatus.BAD_REQUEST, "malformed", "The request cannot be read.")
    if isinstance(error, IntegrityError):
        _log.warning("constraint_refused", error=str(error))
        detail = "Something that was changed at the same moment does not allow it. Nothing changed."
        return problem(HTTPStatus.CONFLICT, "conflict.constraint", f"{detail} Repeat the request.")
    if isinstance(error, DataError):
        _log.warning("value_refused", error=str(error))
        detail = "A value is outside of what can be stored. Nothing changed."
        return problem(HTTPStatus.BAD_REQUEST, "malformed", detail)
    if isinstance(error, OperationalError):
        return _database(error)
    _log.exception("request_failed", exc_info=error)
    detail = "This is our mistake. Nothing was changed by this request; it is safe to repeat it."
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "internal", detail)


def _database(error: OperationalError) -> HttpResponse:
    retry = {"Retry-After": str(BUSY_SECONDS)}
    if sql_state(error) in {LOCK_NOT_AVAILABLE, DEADLOCK, CANCELLED}:
        detail = "Others are changing the same objects just now. Nothing changed; repeat it."
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail, headers=retry)
    _log.error("database_unavailable", error=str(error))
    detail = "The database cannot be reached now. Guests and agents go on without it."
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", detail, headers=retry)


def sql_state(error: Exception) -> str:
    """Return PostgreSQL's code of an error; "" when it has none."""
    return str(getattr(error.__cause__, "sqlstate", "") or "")
