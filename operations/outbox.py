"""Telling whoever watches: an event row in the same transaction, and a wake-up after it.

NOTIFY and Celery messages are hints. Whoever misses one finds the rows by looking.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from uuid import UUID

import structlog
from celery import current_app
from django.db import connection, transaction
from kombu.exceptions import OperationalError

from inventory.models import Event

EVENTS_CHANNEL = "infra_events"
NODES_CHANNEL = "infra_node"
EVERY_NODE = "*"

_log = structlog.get_logger(__name__)


def publish(
    topic: str,
    action: str,
    object_id: UUID,
    *,
    now: datetime,
    owner_id: UUID | None = None,
    operation_id: UUID | None = None,
    data: dict[str, object] | None = None,
) -> None:
    """Write an event in the running transaction and wake the watchers when it commits."""
    Event.objects.create(
        topic=topic,
        action=action,
        object_id=object_id,
        owner_id=owner_id,
        operation_id=operation_id,
        data=data or {},
        at=now,
    )
    _notify(EVENTS_CHANNEL, "")


def wake_node(node_id: UUID) -> None:
    """Wake the live poll of a node when the running transaction commits."""
    _notify(NODES_CHANNEL, node_id.hex)


def _notify(channel: str, payload: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [channel, payload])


def wake_worker(operation_id: UUID) -> None:
    """Ask a worker to look at an operation once the running transaction has committed."""
    transaction.on_commit(partial(_send_wake_up, str(operation_id)))


def _send_wake_up(operation_id: str) -> None:
    try:
        current_app.send_task("operations.advance", args=[operation_id], retry=False, expires=60)
    except OperationalError as error:
        # The sweep finds the operation by itself; only a few seconds are lost.
        _log.warning("wake_up_not_sent", operation_id=operation_id, error=str(error))
