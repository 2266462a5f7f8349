"""What a control plane needs before anybody uses it. Every function may be called again."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.db import connection

from inventory.models import Installation, Node, NodeCertificate, Owner, User, Zone
from operations.intents.call import Call
from operations.intents.nodes import create_node
from operations.intents.zones import create_zone

_SETTING_UP = 0x5E7717
"""Advisory lock: two machines that set the same database up at once take turns."""

DEFAULT_OWNER = "default"
PASSWORD_BYTES = 15


def lock_setting_up() -> None:
    """Wait for anybody else who sets this database up; held to the end of the transaction."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_SETTING_UP])


def ensure_installation(call: Call) -> Installation:
    """Return the row that names this control plane; its token is drawn when it is made."""
    row, _ = Installation.objects.get_or_create(
        singleton=True, defaults={"token": secrets.token_urlsafe(32), "created_at": call.now}
    )
    return row


def ensure_default_owner() -> Owner:
    """Return the owner for people who need only one."""
    existing = Owner.objects.filter(is_default=True).first()
    if existing is not None:
        return existing
    owner, _ = Owner.objects.get_or_create(name=DEFAULT_OWNER)
    owner.is_default = True
    owner.save(update_fields=["is_default"])
    return owner


def ensure_administrator(name: str) -> str | None:
    """Make the first person, if there is nobody; return the password, known only now, or None."""
    if User.objects.exists():
        return None
    password = secrets.token_urlsafe(PASSWORD_BYTES)
    User.objects.create_superuser(username=name, password=password)
    return password


def ensure_zone(call: Call, name: str) -> Zone:
    """Return the zone of that name."""
    return Zone.objects.filter(name=name).first() or create_zone(call, name=name)


def ensure_node(call: Call, name: str, zone: Zone) -> Node:
    """Return the node of that name that has not left; made in the zone when there is none."""
    existing = Node.objects.filter(name=name).exclude(lifecycle="left").first()
    return existing or create_node(call, name=name, zone=zone.pk)


def holds_certificate(node_id: UUID, call: Call) -> bool:
    """Return whether a machine has shown a certificate of the node that is still good."""
    return NodeCertificate.objects.filter(
        node_id=node_id,
        first_used_at__isnull=False,
        revoked_at__isnull=True,
        not_after__gt=call.now,
    ).exists()
