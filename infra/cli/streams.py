"""What arrives on the event stream, and that it ends."""

from __future__ import annotations

from dataclasses import dataclass

from infra.cli.documents import Document


@dataclass(frozen=True)
class ServerEvent:
    """One event. `id` is where a stream that was lost goes on."""

    id: str
    name: str
    document: Document


class StreamLost(Exception):
    """The event stream ended, or could not be opened."""
