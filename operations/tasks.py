"""Wake-ups from the queue. Each calls what a sweep would have called anyway."""

from __future__ import annotations

from uuid import UUID

import structlog
from celery import shared_task
from django.utils import timezone

from operations import executor, sweeps
from operations.sweeps import SweepReport

_log = structlog.get_logger(__name__)


@shared_task(name="operations.advance")
def advance(operation_id: str) -> None:
    """Take one turn of an operation."""
    executor.advance(UUID(operation_id), now=timezone.now())


@shared_task(name="operations.sweep_due", expires=10)
def sweep_due() -> None:
    """Advance what is due."""
    _tell("due", sweeps.sweep_due(now=timezone.now()))


@shared_task(name="operations.sweep_lost", expires=10)
def sweep_lost() -> None:
    """Call unknown what was sent to silent nodes."""
    _tell("lost", sweeps.sweep_lost(now=timezone.now()))


@shared_task(name="operations.sweep_drift", expires=10)
def sweep_drift() -> None:
    """Open repairs."""
    _tell("drift", sweeps.sweep_drift(now=timezone.now()))


@shared_task(name="operations.sweep_nodes", expires=10)
def sweep_nodes() -> None:
    """Watch the nodes."""
    _tell("nodes", sweeps.sweep_nodes(now=timezone.now()))


@shared_task(name="operations.sweep_retention", expires=300)
def sweep_retention() -> None:
    """Delete what is past its keeping."""
    _tell("retention", sweeps.sweep_retention(now=timezone.now()))


def _tell(name: str, report: SweepReport) -> None:
    if report.acted:
        _log.info("swept", sweep=name, seen=report.seen, acted=report.acted)
