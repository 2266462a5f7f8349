"""Refusals of intents as pages show them: what happened, what is still safe, what to do next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from inventory.errors import Conflict, Forbidden, InfraError, Invalid, NotFound, RevisionMismatch

SAFE = "Nothing was changed. Guests go on as they were."

_NEXT: Mapping[str, str] = MappingProxyType(
    {
        "resource.name_taken": "Choose another name, or change the one there is.",
        "resource.protected": "Lift the protection first, if you mean it.",
        "resource.in_use": "Delete or rebuild what uses it first.",
        "resource.deleting": "Wait for the deletion to end, then declare it anew.",
        "droplet.not_running": "Start it instead.",
        "operation.sent": "Ask for the opposite change: the newer one always wins.",
        "operation.finished": "Ask for what you want now, as a new change.",
        "operation.not_failed": "Follow the operation; it goes on by itself.",
        "operation.outdated": "Ask for what you want now, as a new change.",
        "node.lifecycle": "Look at the node's lifecycle, and take the step that comes first.",
        "node.name_taken": "Choose another name.",
    }
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal in words; `fields` maps a field's name to what is wrong with it."""

    happened: str
    safe: str
    next_step: str
    code: str
    fields: Mapping[str, str] = field(default_factory=dict)


def refusal_of(error: InfraError) -> Refusal:
    """Return how a refusal is shown."""
    return Refusal(
        happened=_happened(error),
        safe=SAFE,
        next_step=_next(error),
        code=error.code,
        fields=_fields(error),
    )


def _happened(error: InfraError) -> str:
    if isinstance(error, Invalid):
        count = len(error.errors)
        return "One field is not right." if count == 1 else f"{count} fields are not right."
    return str(error)


def _next(error: InfraError) -> str:
    match error:
        case Invalid():
            return "Correct what is marked, and send it again."
        case RevisionMismatch():
            return "Load the page again, and repeat what still applies."
        case Forbidden():
            return "Ask an owner of the team for the role it needs."
        case NotFound():
            return "Check the name; it may have been deleted."
        case Conflict():
            return _NEXT.get(error.code, "Change what stands in the way, then try again.")
        case _:
            return "Change what stands in the way, then try again."


def _fields(error: InfraError) -> Mapping[str, str]:
    if not isinstance(error, Invalid):
        return {}
    found: dict[str, str] = {}
    for one in error.errors:
        name = field_of(one.pointer)
        found[name] = f"{found[name]} {one.message}" if name in found else one.message
    return found


def field_of(pointer: str) -> str:
    """Return the form field a JSON pointer means: `/spec/stop/force` is `stop_force`."""
    parts = [part for part in pointer.split("/") if part and part != "spec"]
    named = [part for part in parts if not part.isdecimal()]
    if named[:1] in (["labels"], ["ssh_keys"], ["affinity"]):
        return named[0]
    return "_".join(named)
