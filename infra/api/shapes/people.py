"""Owners, tokens, who one is, and the audit journal, as documents and bodies."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AwareDatetime, Field

from infra.api.models import ApiToken
from infra.api.shapes.base import Body, Name, Shape
from inventory.models import AuditEvent, Owner
from inventory.specs.base import Text


class OwnerShape(Shape):
    """A team that owns resources."""

    id: UUID
    name: str
    is_default: bool
    created_at: datetime


class NewOwner(Body):
    """An owner to be made."""

    name: Name


class TokenShape(Shape):
    """An API token without its secret."""

    id: UUID
    name: str
    prefix: str
    scopes: list[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class NewTokenShape(TokenShape):
    """A new API token; `token` is shown only now."""

    token: str


class NewToken(Body):
    """A token to be made for oneself."""

    name: Name
    scope: Literal["read", "write"] = "write"
    expires_at: Annotated[AwareDatetime | None, Field(strict=False)] = None


class LoginBody(Body):
    """Name and password of a person, and what to call the token."""

    username: Annotated[Text, Field(min_length=1, max_length=150)]
    password: Annotated[Text, Field(min_length=1, max_length=1000)]
    token_name: Name | None = None


class MeShape(Shape):
    """Who the request comes from."""

    username: str
    administrator: bool
    read_only: bool
    roles: dict[str, str] = Field(description="role by owner id")


class VersionShape(Shape):
    """What this installation runs."""

    name: str
    version: str
    api: str


class AuditShape(Shape):
    """Who did what to which object."""

    id: UUID
    at: datetime
    actor: str
    action: str
    object_kind: str
    object_id: UUID | None
    object_name: str
    before: dict[str, object] | None
    after: dict[str, object] | None
    reason: str
    request_id: str
    operation_id: UUID | None


def show_owner(row: Owner) -> OwnerShape:
    """Return an owner as a document."""
    return OwnerShape(
        id=row.pk, name=row.name, is_default=row.is_default, created_at=row.created_at
    )


def token_fields(row: ApiToken) -> dict[str, object]:
    """Return the fields of TokenShape."""
    return {
        "id": row.pk,
        "name": row.name,
        "prefix": row.prefix,
        "scopes": ["read"] if row.scope == ApiToken.Scope.READ else ["read", "write"],
        "created_at": row.created_at,
        "expires_at": row.expires_at,
        "last_used_at": row.last_used_at,
    }


def show_token(row: ApiToken) -> TokenShape:
    """Return a token without its secret."""
    return TokenShape.model_validate(token_fields(row))


def show_new_token(row: ApiToken, text: str) -> NewTokenShape:
    """Return a new token with its text, shown once."""
    return NewTokenShape.model_validate({**token_fields(row), "token": text})


def show_audit(row: AuditEvent) -> AuditShape:
    """Return a row of the audit journal."""
    return AuditShape(
        id=row.pk,
        at=row.at,
        actor=row.actor_label,
        action=row.action,
        object_kind=row.object_kind,
        object_id=row.object_id,
        object_name=row.object_name,
        before=row.before,
        after=row.after,
        reason=row.reason,
        request_id=row.request_id,
        operation_id=row.operation_id,
    )
