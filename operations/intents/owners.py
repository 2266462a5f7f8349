"""Intents of owners (teams)."""

from __future__ import annotations

from uuid import UUID

from django.db import IntegrityError, transaction

from inventory.access import access_owner, check_may_administer
from inventory.errors import Conflict
from inventory.models import Owner
from inventory.specs.base import check_name
from operations.audit import record_audit
from operations.intents.call import Call, door


def create_owner(call: Call, *, name: str) -> Owner:
    """Return a new owner. Raises Forbidden, Invalid or Conflict."""
    check_may_administer(call.actor, "create an owner", name)
    with door(call):
        owner = Owner(name=check_name(name))
        _save(owner)
        record_audit(call, "owner.create", kind="owner", object_id=owner.pk, name=owner.name)
    return owner


def rename_owner(call: Call, key: UUID | str, name: str) -> Owner:
    """Give an owner another name."""
    with door(call):
        owner = access_owner(call.actor, key)
        check_may_administer(call.actor, "rename owner", owner.name)
        before = owner.name
        owner.name = check_name(name)
        _save(owner)
        record_audit(
            call,
            "owner.rename",
            kind="owner",
            object_id=owner.pk,
            name=owner.name,
            before={"name": before},
            after={"name": owner.name},
        )
    return owner


def _save(owner: Owner) -> None:
    try:
        with transaction.atomic():
            owner.save()
    except IntegrityError:
        raise Conflict(
            "owner.name_taken", f"There already is an owner named {owner.name}. Nothing changed."
        ) from None
