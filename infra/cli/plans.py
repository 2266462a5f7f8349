"""What applying would do, and how things differ, as lines. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType

from infra.cli.documents import Document, find, mappings, text
from infra.cli.words import plain

SIGNS: Mapping[str, str] = MappingProxyType(
    {"create": "+", "change": "~", "update": "~", "delete": "-", "unchanged": "="}
)


def plan_lines(document: Document) -> list[str]:
    """Return one line for each object, with the differences below it."""
    return [line for item in mappings(document, "items") for line in _item_lines(item)] or [
        "Nothing would change."
    ]


def diff_lines(document: Document) -> list[str]:
    """Return the objects that differ and how; nothing when none does."""
    return [
        line
        for item in mappings(document, "items")
        if text(item, "action") != "unchanged"
        for line in _item_lines(item)
    ]


def _item_lines(item: Document) -> Iterator[str]:
    action = text(item, "action")
    sign = SIGNS.get(action, "?")
    yield plain(f"{sign} {text(item, 'kind')} {text(item, 'name')}: {action}")
    for change in mappings(item, "changes"):
        before, after = _shown(find(change, "before")), _shown(find(change, "after"))
        yield plain(f"    {text(change, 'field') or text(change, 'pointer')}: {before} -> {after}")
    for warning in find(item, "warnings") or []:  # type: ignore[attr-defined]
        yield plain(f"    ! {warning}")


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value is not None else "(nothing)"
