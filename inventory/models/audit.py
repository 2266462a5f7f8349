"""Who did what. Append-only, held by the database."""

import pgtrigger
from django.conf import settings
from django.db import models

from inventory.identifiers import uuid7


class AuditEvent(models.Model):
    """One change a person (or the loop) made or was refused: before, after, request, operation."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.DO_NOTHING,
        related_name="+",
        db_constraint=False,
    )
    actor_label = models.CharField(max_length=150)
    action = models.CharField(max_length=100)
    object_kind = models.CharField(max_length=32)
    object_id = models.UUIDField(null=True)
    object_name = models.CharField(max_length=100, blank=True)
    before = models.JSONField(null=True)
    after = models.JSONField(null=True)
    reason = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    operation_id = models.UUIDField(null=True)

    class Meta:
        ordering = ["-id"]
        indexes = [models.Index(fields=["object_id", "-id"], name="inventory_audit_object")]
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.actor_label} {self.action} {self.object_name}"
