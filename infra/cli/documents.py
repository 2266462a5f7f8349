"""Reading JSON documents without trusting their shape. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Document = Mapping[str, object]

EMPTY: Document = {}


def find(document: object, *path: str) -> object:
    """Return the value at the path, or None where the document does not go that far."""
    value = document
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def text(document: object, *path: str) -> str:
    """Return the value at the path as text; "" for null and for what is not there."""
    value = find(document, *path)
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def number(document: object, *path: str) -> int:
    """Return the whole number at the path; 0 for anything else."""
    value = find(document, *path)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0


def mapping(document: object, *path: str) -> Document:
    """Return the object at the path; an empty one for anything else."""
    value = find(document, *path)
    return {str(key): part for key, part in value.items()} if isinstance(value, Mapping) else EMPTY


def sequence(document: object, *path: str) -> list[object]:
    """Return the array at the path; an empty one for anything else."""
    value = find(document, *path)
    return list(value) if isinstance(value, list | tuple) else []


def mappings(document: object, *path: str) -> Iterator[Document]:
    """Yield the objects of the array at the path."""
    for item in sequence(document, *path):
        if isinstance(item, Mapping):
            yield mapping(item)
