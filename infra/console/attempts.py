"""Slows down guessing of passwords. Counts failures in the cache, which PostgreSQL keeps.

A name is never locked for everyone: that would let a stranger lock out its holder. What is
limited is one name from one address, and all names from one address.
"""

from __future__ import annotations

import hashlib

from django.core.cache import cache

WINDOW_SECONDS = 300
FAILURES_PER_NAME = 5
"""As many slips as people make; a guesser gets 60 tries an hour."""
FAILURES_PER_ADDRESS = 30
"""An office behind one address may have a bad morning."""


def _keys(name: str, address: str) -> tuple[tuple[str, int], tuple[str, int]]:
    pair = hashlib.sha256(f"{name}\0{address}".encode()).hexdigest()
    place = hashlib.sha256(address.encode()).hexdigest()
    return (
        (f"sign-in-name:{pair}", FAILURES_PER_NAME),
        (f"sign-in-address:{place}", FAILURES_PER_ADDRESS),
    )


def too_many(name: str, address: str) -> bool:
    """Return whether this name from this address, or the address, has failed too often."""
    return any(cache.get(key, 0) >= limit for key, limit in _keys(name, address))


def count_failure(name: str, address: str) -> None:
    """Remember a failure for WINDOW_SECONDS."""
    for key, _ in _keys(name, address):
        if not cache.add(key, 1, WINDOW_SECONDS):
            cache.incr(key)


def forget_failures(name: str, address: str) -> None:
    """Forget the failures of a name that has now signed in; the address keeps its count."""
    (pair, _), _ = _keys(name, address)
    cache.delete(pair)
