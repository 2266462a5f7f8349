"""The audit journal: one row per change or refusal, in the transaction of the change."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from inventory.models import AuditEvent

if TYPE_CHECKING:
    from operations.intents.call import Call

Document = dict[str, object]


def record_audit(
    call: Call,
    action: str,
    *,
    kind: str,
    object_id: UUID | None,
    name: str,
    before: Document | None = None,
    after: Document | None = None,
    operation_id: UUID | None = None,
) -> None:
    """Append who did what to which object, with the document before and after."""
    AuditEvent.objects.create(
        at=call.now,
        actor_id=call.actor.user_id,
        actor_label=call.actor.label,
        action=action,
        object_kind=kind,
        object_id=object_id,
        object_name=name,
        before=before,
        after=after,
        reason=call.reason,
        request_id=call.request_id,
        operation_id=operation_id,
    )
