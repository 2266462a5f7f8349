"""How values read in a cell or a line: ages, sizes, labels, text that came from elsewhere. Pure."""

from __future__ import annotations

import unicodedata
from datetime import datetime, timedelta

from infra.cli.documents import Document

MISSING = "-"

_DAY, _HOUR, _MINUTE = 86400, 3600, 60
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS = frozenset("\u200c\u200d")
"""Format characters that scripts and emoji need; the others can reorder or hide text."""

_SIZES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_STEP = 1024


def plain(text: str) -> str:
    """Return the text on one line, without characters that command a terminal.

    Guests and nodes name things too; what they say must not be able to rewrite the screen.
    """
    return "".join(_shown(character) for character in text)


def _shown(character: str) -> str:
    if character in "\n\r\t":
        return " "
    is_safe = character in _JOINERS or unicodedata.category(character) not in _UNSAFE
    return character if is_safe else "\ufffd"


def parse_time(text: str) -> datetime | None:
    """Return the moment, or None when the text is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else None


def age(text: str, now: datetime) -> str:
    """Return how long ago a moment was, in one or two units."""
    moment = parse_time(text)
    return span(now - moment) if moment else MISSING


def span(length: timedelta) -> str:
    """Return a length of time in one or two units; never below zero."""
    seconds = max(0, int(length.total_seconds()))
    if seconds >= 2 * _DAY:
        return f"{seconds // _DAY}d"
    if seconds >= _HOUR:
        hours, rest = divmod(seconds, _HOUR)
        return f"{hours}h{rest // _MINUTE}m" if rest >= _MINUTE else f"{hours}h"
    if seconds >= _MINUTE:
        minutes, rest = divmod(seconds, _MINUTE)
        return f"{minutes}m{rest}s" if rest and minutes < 10 else f"{minutes}m"  # noqa: PLR2004
    return f"{seconds}s"


def size(count: int) -> str:
    """Return a number of bytes with the unit that fits."""
    value, unit = float(count), 0
    while value >= _STEP and unit < len(_SIZES) - 1:
        value, unit = value / _STEP, unit + 1
    digits = 0 if unit == 0 or value >= 10 else 1  # noqa: PLR2004  two figures say enough
    return f"{value:.{digits}f} {_SIZES[unit]}"


def mebibytes(count: int) -> str:
    """Return an amount of memory given in MiB."""
    return size(count * _STEP * _STEP)


def labels(document: Document) -> str:
    """Return labels as people write them."""
    return ",".join(f"{key}={value}" for key, value in sorted(document.items())) or MISSING


def or_missing(text: str) -> str:
    """Return the text, safe to print, or a sign that there is none."""
    return plain(text) or MISSING
