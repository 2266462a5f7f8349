"""API tokens: `infra_<prefix>_<secret>`, made once, kept as a digest, known by their prefix."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet

from infra.api.models import ApiToken
from inventory.access import Actor, as_uuid
from inventory.errors import Conflict, Forbidden, NotFound, invalid
from inventory.models import User
from inventory.specs.base import check_name
from operations.audit import record_audit
from operations.intents.call import Call

PREFIX_BYTES = 6
SECRET_BYTES = 32
COARSE = timedelta(minutes=5)
"""How exact `last_used_at` is: a write per request would cost more than it tells."""

MOST_PER_PERSON = 100
_TOKEN = re.compile(r"infra_([0-9a-f]{12})_([0-9a-f]{64})")


def make_token(
    call: Call,
    user: User,
    *,
    name: str,
    scope: str = ApiToken.Scope.WRITE,
    expires_at: datetime | None = None,
) -> tuple[ApiToken, str]:
    """Return a new token of the person and its text, which is known only now.

    Raises Invalid, Conflict for a name in use, Forbidden for a token that only reads.
    """
    if call.actor.read_only:
        raise Forbidden("make", "a token", "a token with the scope write")
    checked = check_name(name)
    if expires_at is not None and expires_at <= call.now:
        raise invalid("/expires_at", "past", "The token would have expired already.")
    if ApiToken.objects.filter(user=user).count() >= MOST_PER_PERSON:
        raise Conflict("token.too_many", f"A person has at most {MOST_PER_PERSON} tokens.")
    prefix, secret = secrets.token_hex(PREFIX_BYTES), secrets.token_hex(SECRET_BYTES)
    text = f"infra_{prefix}_{secret}"
    token = ApiToken(
        user=user,
        name=checked,
        prefix=prefix,
        digest=_digest(text),
        scope=scope,
        created_at=call.now,
        expires_at=expires_at,
    )
    try:
        with transaction.atomic():
            token.save(force_insert=True)
            _audit(call, "token.create", token)
    except IntegrityError:
        message = f"You already have a token named {checked}. Nothing changed."
        raise Conflict("token.name_taken", message) from None
    return token, text


def find_token(text: str, *, now: datetime) -> ApiToken | None:
    """Return the token with its person, or None: unknown, expired, or of somebody locked out."""
    match = _TOKEN.fullmatch(text)
    if match is None:
        return None
    token = ApiToken.objects.select_related("user").filter(prefix=match[1]).first()
    if token is None or not hmac.compare_digest(token.digest, _digest(text)):
        return None
    if token.expires_at is not None and token.expires_at <= now:
        return None
    return token if token.user.is_active else None


def touch(token: ApiToken, *, now: datetime) -> None:
    """Remember, roughly, when the token was last used."""
    if token.last_used_at is not None and now - token.last_used_at < COARSE:
        return
    stale = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - COARSE)
    ApiToken.objects.filter(stale, pk=token.pk).update(last_used_at=now)


def tokens_of(actor: Actor) -> QuerySet[ApiToken]:
    """Return the actor's own tokens."""
    tokens = ApiToken.objects.all()
    return tokens.filter(user=actor.user_id) if actor.user_id is not None else tokens.none()


def access_token(actor: Actor, key: str) -> ApiToken:
    """Return one of the actor's own tokens by id, name or prefix. Raises NotFound."""
    identifier = as_uuid(key)
    wanted = Q(pk=identifier) if identifier else Q(name=key) | Q(prefix=key)
    token = tokens_of(actor).filter(wanted).first()
    if token is None:
        raise NotFound("token", key)
    return token


def revoke_token(call: Call, key: str) -> None:
    """End one of the actor's own tokens. Raises NotFound, Forbidden."""
    token = access_token(call.actor, key)
    if call.actor.read_only:
        raise Forbidden("revoke", f"token {token.name}", "a token with the scope write")
    with transaction.atomic():
        _audit(call, "token.revoke", token)
        token.delete()


def _audit(call: Call, action: str, token: ApiToken) -> None:
    after: dict[str, object] = {"prefix": token.prefix, "scope": token.scope}
    record_audit(call, action, kind="token", object_id=token.pk, name=token.name, after=after)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
