"""How a declared object differs from a document, and what that will do. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Action(StrEnum):
    """What applying a document does."""

    CREATE = "create"
    CHANGE = "change"
    UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Change:
    """One field of the document, before and after."""

    pointer: str
    before: object
    after: object


@dataclass(frozen=True)
class Planned:
    """What applying one document would do; `existing` and `revision` name what is there now."""

    index: int
    kind: str
    name: str
    action: Action
    changes: tuple[Change, ...] = ()
    warnings: tuple[str, ...] = ()
    existing: UUID | None = None
    revision: int | None = None


def differences(before: object, after: object, pointer: str = "") -> tuple[Change, ...]:
    """Return the fields in which two documents differ; objects are compared part by part."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        found: list[Change] = []
        for key in sorted({*before, *after}):
            place = f"{pointer}/{str(key).replace('~', '~0').replace('/', '~1')}"
            found.extend(differences(before.get(key), after.get(key), place))
        return tuple(found)
    return () if before == after else (Change(pointer, before, after),)


def action_of(changes: tuple[Change, ...]) -> Action:
    """Return what a document does to an object that is there."""
    return Action.CHANGE if changes else Action.UNCHANGED


def droplet_warnings(changes: tuple[Change, ...]) -> tuple[str, ...]:
    """Return in sentences what a change does to a running guest."""
    changed = {change.pointer for change in changes}
    warnings = []
    if "/spec/image" in changed:
        warnings.append("The disk is made anew from the other image: what is on it is lost.")
    if changed & {"/spec/vcpus", "/spec/memory_mib", "/spec/disk_gib"}:
        warnings.append("The guest restarts to take its new sizes.")
    for change in changes:
        if change.pointer == "/spec/power":
            verb = "stops" if change.after == "stopped" else "starts"
            warnings.append(f"The guest {verb}.")
    return tuple(warnings)
