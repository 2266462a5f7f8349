"""What an endpoint answers, and how that becomes HTTP: status, ETag, Location."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from pydantic import BaseModel

from infra.api.requests import request_id

OPERATIONS = "/api/v1/operations/"
WAITED_FOR = "waited_for"
"""Where a response carries the operation that `Prefer: wait` waits for."""


@dataclass(frozen=True)
class Answer:
    """A document and what goes with it.

    `revision` makes it conditional; `operation_id` is what `Prefer: wait` waits for; `secret` keeps
    it out of every record.
    """

    document: BaseModel | None
    status: HTTPStatus = HTTPStatus.OK
    revision: int | None = None
    operation_id: UUID | None = None
    secret: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)


def etag_of(content: bytes, revision: int | None) -> str:
    """Return the ETag: the revision, which If-Match compares, and a digest of what was shown."""
    digest = hashlib.blake2b(content, digest_size=8).hexdigest()
    return f'"{revision}.{digest}"' if revision is not None else f'"{digest}"'


def to_http(answer: Answer, request: HttpRequest) -> HttpResponse:
    """Return the answer as HTTP; 304 when the client has it already."""
    content = answer.document.model_dump_json().encode() if answer.document is not None else b""
    response = HttpResponse(content, status=answer.status, content_type="application/json")
    if answer.document is None:
        del response["Content-Type"]
    reads = request.method in {"GET", "HEAD"}
    if answer.document is not None and not answer.secret and (reads or answer.revision is not None):
        response["ETag"] = etag_of(content, answer.revision)
        if reads and _has_it(request, response["ETag"]):
            headers = {"ETag": response["ETag"]}
            response = HttpResponse(status=HTTPStatus.NOT_MODIFIED, headers=headers)
            del response["Content-Type"]
    if answer.status == HTTPStatus.ACCEPTED and answer.operation_id is not None:
        response["Location"] = f"{OPERATIONS}{answer.operation_id}"
    setattr(response, WAITED_FOR, answer.operation_id)
    for name, value in answer.headers.items():
        response[name] = value
    response["Cache-Control"] = "no-store" if answer.secret or not reads else "private, no-cache"
    response["X-Request-ID"] = request_id()
    return response


def _has_it(request: HttpRequest, etag: str) -> bool:
    stated = request.headers.get("If-None-Match", "").split(",")
    tags = {tag.strip().removeprefix("W/") for tag in stated}
    return etag in tags or "*" in tags
