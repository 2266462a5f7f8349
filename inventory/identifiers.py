"""Identifiers: UUIDv7 (RFC 9562), so that rows sort by the time they were made."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

_RANDOM_BITS = 74


def uuid7_at(milliseconds: int, random_bits: int) -> UUID:
    """Return the UUIDv7 of a Unix time in milliseconds and 74 random bits."""
    high, low = random_bits >> 62, random_bits & ((1 << 62) - 1)
    value = (milliseconds & ((1 << 48) - 1)) << 80
    value |= 0x7 << 76 | (high & 0xFFF) << 64 | 0b10 << 62 | low
    return UUID(int=value)


def uuid7() -> UUID:
    """Return a new UUIDv7."""
    return uuid7_at(time.time_ns() // 1_000_000, secrets.randbits(_RANDOM_BITS))
