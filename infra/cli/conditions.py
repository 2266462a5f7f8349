"""What `infra wait --for` may wait for, and whether an object is there yet. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from infra.cli.documents import Document, mappings, text
from infra.cli.failures import Failure, usage

FINISHED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True)
class Condition:
    """One thing to wait for. `document` is None for an object that is gone."""

    words: str
    is_met: Callable[[Document | None], bool]
    can_still_be: Callable[[Document | None], bool] = lambda _document: True


def _gone(document: Document | None) -> bool:
    return document is None or text(document, "state") == "deleted"


def _is(key: str, *values: str) -> Condition:
    return Condition(values[0], lambda document: text(document, key) in values)


def _reachable(document: Document | None) -> bool:
    kinds = {text(found, "kind") for found in mappings(document, "conditions")}
    return document is not None and "unreachable" not in kinds and bool(text(document, "last_seen"))


def _ends(key: str, value: str) -> Condition:
    """Return the condition of one way to end, which another end rules out."""
    return Condition(
        value,
        lambda document: text(document, key) == value,
        lambda document: text(document, key) not in FINISHED,
    )


DELETED = Condition("deleted", _gone)

CONDITIONS: Mapping[str, Mapping[str, Condition]] = MappingProxyType(
    {
        "droplet": {
            **{word: _is("state", word) for word in ("running", "stopped", "waiting", "unseen")},
            "settled": Condition(
                "settled", lambda document: text(document, "state") in {"running", "stopped"}
            ),
            "placed": Condition("placed", lambda document: bool(text(document, "node"))),
        },
        "node": {
            **{
                word: _is("lifecycle", word)
                for word in ("joining", "ready", "draining", "drained", "leaving", "left")
            },
            "reachable": Condition("reachable", _reachable),
        },
        "operation": {
            "finished": _is("state", *sorted(FINISHED)),
            **{word: _ends("state", word) for word in ("succeeded", "failed", "cancelled")},
        },
    }
)
"""Conditions by kind; every kind can be waited for to be deleted, or to have a field's value."""

DEFAULTS: Mapping[str, str] = MappingProxyType(
    {"droplet": "settled", "node": "ready", "operation": "succeeded"}
)


def find_condition(kind: str, word: str) -> Condition:
    """Return the condition a person names: a word, or `field.path=value`. Raises Failure."""
    wanted = word or DEFAULTS.get(kind, "")
    known = CONDITIONS.get(kind, {})
    if wanted in known:
        return known[wanted]
    if wanted == DELETED.words:
        return DELETED
    path, equals, value = wanted.partition("=")
    if equals and path:
        steps = path.split(".")
        return Condition(wanted, lambda document: text(document, *steps) == value)
    raise _unknown(kind, word, [*known, DELETED.words])


def _unknown(kind: str, word: str, known: list[str]) -> Failure:
    return usage(
        f"A {kind} cannot be waited for to be {word!r}." if word else "What is to be waited for?",
        advice=f"Say --for with one of {', '.join(known)}, or with FIELD=VALUE.",
    )
