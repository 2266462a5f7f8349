"""What people type into forms, as intents take it. Raises Invalid with a field's pointer."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from django.http import QueryDict

from inventory.errors import invalid

Values = Mapping[str, str]


def values_of(post: QueryDict) -> dict[str, str]:
    """Return what was typed, to be shown again; without what no database could hold."""
    return {name: (post.get(name) or "").replace("\x00", "") for name in post}


def labels_of(text: str) -> dict[str, str]:
    """Return labels from "key=value" words, separated by spaces, commas or lines."""
    labels: dict[str, str] = {}
    for word in text.replace(",", " ").split():
        key, _, value = word.partition("=")
        labels[key] = value
    return labels


def labels_text(labels: Mapping[str, object]) -> str:
    """Return labels as they are typed."""
    return " ".join(f"{key}={value}" if value else key for key, value in sorted(labels.items()))


def decimal_of(text: str, pointer: str) -> Decimal:
    """Return a number with a point. Raises Invalid."""
    try:
        return Decimal(text.strip())
    except InvalidOperation:
        raise invalid(pointer, "number", "Write a number, such as 1.5.") from None


def integer_of(text: str, pointer: str) -> int:
    """Return a whole number. Raises Invalid."""
    digits = text.strip()
    if not digits.isdecimal() or len(digits) > 12:  # noqa: PLR2004  no size needs more
        raise invalid(pointer, "number", "Write a whole number.")
    return int(digits)
