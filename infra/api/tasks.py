"""Keeping the API's own records in bounds."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from infra.api.idempotency import sweep_idempotency


@shared_task(name="api.sweep_idempotency", expires=300)
def prune_idempotency() -> None:
    """Delete answers that no repeat asks for any more."""
    sweep_idempotency(now=timezone.now())
