"""What every intent is called with, and the transaction it runs in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from inventory.access import Actor
from inventory.errors import RevisionMismatch


@dataclass(frozen=True)
class Call:
    """Who asks, when and why.

    With `dry_run` everything is checked and written, then rolled back. `expected_revision` is the
    revision the caller read; the intent is refused if the object has moved on.
    """

    actor: Actor
    now: datetime
    reason: str = ""
    request_id: str = ""
    dry_run: bool = False
    expected_revision: int | None = None


@contextmanager
def door(call: Call) -> Iterator[None]:
    """Run an intent in one transaction; a dry run leaves nothing behind."""
    with transaction.atomic():
        yield
        if call.dry_run:
            transaction.set_rollback(True)


def check_revision(call: Call, actual: int) -> None:
    """Raise RevisionMismatch when the caller read another revision."""
    if call.expected_revision is not None and call.expected_revision != actual:
        raise RevisionMismatch(call.expected_revision, actual)
