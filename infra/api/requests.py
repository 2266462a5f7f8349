"""What a request says beside its body: who, since when, on what condition, under which key."""

from __future__ import annotations

import re

import structlog
from django.http import HttpRequest

from inventory.errors import invalid
from inventory.identifiers import uuid7

_REQUEST_ID = re.compile(r"[A-Za-z0-9._:-]{1,64}")
_PREFER_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d{1,6})\"?(?=$|[,;\s])", re.IGNORECASE)
_ETAG = re.compile(r'(?:W/)?"(\d{1,18})(?:\.[0-9a-f]+)?"')
TRUE, FALSE = frozenset({"true", "1", "yes"}), frozenset({"", "false", "0", "no"})

MOST_WAIT_SECONDS = 120
MAX_REASON = 500
MAX_KEY = 255


def request_id() -> str:
    """Return the id that this request has in our logs; a client's own is taken if it is plain."""
    found = str(structlog.contextvars.get_contextvars().get("request_id") or "")
    if _REQUEST_ID.fullmatch(found):
        return found
    made = str(uuid7())
    structlog.contextvars.bind_contextvars(request_id=made)
    return made


def wait_seconds(request: HttpRequest) -> int:
    """Return how long the client would like to wait (RFC 7240), bounded; 0 for not at all."""
    found = _PREFER_WAIT.search(request.headers.get("Prefer", ""))
    return min(int(found[1]), MOST_WAIT_SECONDS) if found else 0


def expected_revision(request: HttpRequest) -> int | None:
    """Return the revision named in If-Match; None without one or for `*`. Raises Invalid."""
    stated = request.headers.get("If-Match", "").strip()
    if stated in {"", "*"}:
        return None
    match = _ETAG.fullmatch(stated)
    if match is None:
        raise invalid("", "if_match", "If-Match takes one ETag as it was answered, or *.")
    return int(match[1])


def is_true(request: HttpRequest, name: str) -> bool:
    """Return a yes-or-no parameter of the query. Raises Invalid for anything else."""
    stated = request.GET.get(name, "").lower()
    if stated in TRUE:
        return True
    if stated in FALSE:
        return False
    raise invalid(f"/{name}", "boolean", f"The parameter {name} takes true or false.")


def idempotency_key(request: HttpRequest) -> str:
    """Return the Idempotency-Key; "" without one. Raises Invalid."""
    key = request.headers.get("Idempotency-Key", "").strip()
    if len(key) > MAX_KEY or not key.isascii() or not (key == "" or key.isprintable()):
        raise invalid(
            "", "idempotency_key", f"An Idempotency-Key has 1 to {MAX_KEY} printable characters."
        )
    return key


def stated_reason(request: HttpRequest) -> str:
    """Return why the person does it, from the query parameter `reason`. Raises Invalid."""
    reason = request.GET.get("reason", "")
    if len(reason) > MAX_REASON:
        raise invalid("/reason", "too_long", f"A reason has at most {MAX_REASON} characters.")
    return reason
