"""Words from elsewhere (drivers, libraries, file names) made fit to be kept and sent."""

from __future__ import annotations


def clean(text: str, *, limit: int = 2000) -> str:
    """Return the text without what JSON or PostgreSQL cannot hold, and not longer than `limit`."""
    return text.replace("\0", "").encode(errors="replace").decode()[:limit]
