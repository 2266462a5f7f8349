"""The API's own records: tokens, and the answers kept for repeated requests."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from inventory.identifiers import uuid7


class ApiToken(models.Model):
    """A secret that stands for a person. Only its digest (SHA-256, hex) is kept.

    A token dies with its person. `last_used_at` is coarse: it moves every few minutes at most.
    """

    class Scope(models.TextChoices):
        """What the token may do with the person's rights."""

        READ = "read", "Read"
        WRITE = "write", "Read and write"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="api_tokens"
    )
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=16, unique=True)
    digest = models.CharField(max_length=64)
    scope = models.CharField(max_length=8, choices=Scope.choices, default=Scope.WRITE)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["user", "name"], name="api_token_unique_name"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix})"


class IdempotencyRecord(models.Model):
    """What a person's request with an Idempotency-Key did, in the transaction that did it.

    `digest` is over method, path, query and body. `answer` is empty for answers that hold a
    secret, which is shown once and kept nowhere.
    """

    id = models.BigAutoField(primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(default=0)
    headers = models.JSONField(default=dict)
    answer = models.BinaryField(default=bytes)
    secret = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "key"], name="api_idempotency_once"),
        ]

    def __str__(self) -> str:
        return self.key
