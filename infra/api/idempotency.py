"""Idempotency-Key: one effect however often a request is sent.

The record is written in the transaction of the effect: whoever finds it knows that the effect is
there, and whoever does not knows that it is not. A second request under the same key waits at the
unique index for the first to end, for a while.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse

from infra.api.errors import LOCK_NOT_AVAILABLE, RequestRefused, sql_state
from infra.api.models import IdempotencyRecord

KEPT = timedelta(hours=24)
WAIT_MILLISECONDS = 5000
"""How long a second request waits for the first; far longer than any of ours takes."""

REPLAYED = "Idempotency-Replayed"
KEPT_HEADERS = ("Location", "ETag", "Content-Type")
PRUNED_AT_ONCE = 5000

_CLAIM = """
    WITH bounded AS (SELECT set_config('lock_timeout', %s, true) AS timeout)
    INSERT INTO api_idempotencyrecord
        (user_id, key, digest, status, headers, answer, secret, created_at, expires_at)
    SELECT %s, %s, %s, 0, '{}', '', false, %s, %s FROM bounded
    ON CONFLICT (user_id, key) DO UPDATE
        SET digest = excluded.digest, status = 0, headers = '{}', answer = '', secret = false,
            created_at = excluded.created_at, expires_at = excluded.expires_at
        WHERE api_idempotencyrecord.expires_at <= excluded.created_at
    RETURNING id
"""


@dataclass(frozen=True)
class Claim:
    """A key that is ours until the transaction ends."""

    record_id: int


def digest_of(request: HttpRequest, body: bytes) -> str:
    """Return the digest of all that makes two requests the same one."""
    parts = (request.method or "", request.get_full_path(), request.headers.get("If-Match", ""))
    digest = hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass"))
    digest.update(b"\n" + body)
    return digest.hexdigest()


def claim(user_id: int, key: str, digest: str, *, now: datetime) -> Claim | HttpResponse:
    """Return the claim on a new key, or the answer that was given under it before.

    Runs in the transaction of the effect. Raises RequestRefused: `idempotency.in_progress`,
    `idempotency.reused`, `idempotency.secret`.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM, [str(WAIT_MILLISECONDS), user_id, key, digest, now, now + KEPT])
            row = cursor.fetchone()
    except OperationalError as error:
        if sql_state(error) != LOCK_NOT_AVAILABLE:
            raise
        raise RequestRefused(
            HTTPStatus.CONFLICT,
            "idempotency.in_progress",
            "A request under the same Idempotency-Key is still at work. Repeat it in a moment.",
            headers={"Retry-After": "1"},
        ) from None
    if row is not None:
        return Claim(int(row[0]))
    return _replay(IdempotencyRecord.objects.get(user_id=user_id, key=key), digest)


def _replay(record: IdempotencyRecord, digest: str) -> HttpResponse:
    if record.digest != digest:
        raise RequestRefused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "idempotency.reused",
            "This Idempotency-Key belongs to another request. Nothing changed; draw a new key.",
        )
    if record.secret:
        raise RequestRefused(
            HTTPStatus.CONFLICT,
            "idempotency.secret",
            "This was done, and its answer held a secret that is shown once and kept nowhere. "
            "Make a new one.",
        )
    answer = HttpResponse(bytes(record.answer), status=record.status)
    headers: Mapping[str, str] = record.headers
    for name, value in headers.items():
        answer[name] = value
    answer[REPLAYED] = "true"
    return answer


def keep(claimed: Claim, answer: HttpResponse, *, secret: bool) -> None:
    """Write what was answered beside the effect. An answer with a secret is not kept."""
    headers = {name: answer[name] for name in KEPT_HEADERS if answer.has_header(name)}
    IdempotencyRecord.objects.filter(pk=claimed.record_id).update(
        status=answer.status_code,
        headers=headers,
        answer=b"" if secret else answer.content,
        secret=secret,
    )


def sweep_idempotency(*, now: datetime) -> int:
    """Delete records that have expired, and return how many."""
    old = IdempotencyRecord.objects.filter(expires_at__lte=now).values("pk")[:PRUNED_AT_ONCE]
    deleted, _ = IdempotencyRecord.objects.filter(pk__in=old).delete()
    return deleted
