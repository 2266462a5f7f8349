"""Refusals, for programs first: a permanent code, typed fields, a sentence for people.

An edge chooses the status; nothing here knows HTTP. Each says what happened, what is still safe
and, where there is something to do, what to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class FieldError:
    """What is wrong with one field; `pointer` is a JSON pointer (RFC 6901) into the request."""

    pointer: str
    code: str
    message: str


class InfraError(Exception):
    """Base of all refusals. Nothing was changed when one is raised."""

    code = "error"
    title = "The request was refused"

    @property
    def fields(self) -> Mapping[str, str]:
        """Return the typed facts of the refusal, for programs."""
        return {}


@dataclass(eq=False)
class Invalid(InfraError):
    """The request is malformed or breaks a rule of its kind."""

    errors: tuple[FieldError, ...]
    code = "invalid"
    title = "The request is not valid"

    def __str__(self) -> str:
        return " ".join(f"{error.pointer or '/'}: {error.message}" for error in self.errors)


def invalid(pointer: str, code: str, message: str) -> Invalid:
    """Return the refusal of a single field."""
    return Invalid((FieldError(pointer, code, message),))


@dataclass(eq=False)
class NotFound(InfraError):
    """No such object, or none that this person may see: the two look alike on purpose."""

    kind: str
    key: str
    code = "not_found"
    title = "Not found"

    def __str__(self) -> str:
        return f"There is no {self.kind} {self.key!r} that you may see."

    @property
    def fields(self) -> Mapping[str, str]:
        return {"kind": self.kind, "key": self.key}


@dataclass(eq=False)
class Forbidden(InfraError):
    """The person may see the object, but not do this."""

    action: str
    subject: str
    needs: str
    code = "forbidden"
    title = "Not allowed"

    def __str__(self) -> str:
        return f"You may not {self.action} {self.subject}; it needs {self.needs}. Nothing changed."

    @property
    def fields(self) -> Mapping[str, str]:
        return {"action": self.action, "needs": self.needs}


@dataclass(eq=False)
class Conflict(InfraError):
    """The present state does not allow it; `conflict` is the permanent code."""

    conflict: str
    message: str
    details: Mapping[str, str] = field(default_factory=dict)
    title = "Conflict with the present state"

    @property
    def code(self) -> str:  # type: ignore[override]
        return self.conflict

    def __str__(self) -> str:
        return self.message

    @property
    def fields(self) -> Mapping[str, str]:
        return self.details


@dataclass(eq=False)
class RevisionMismatch(InfraError):
    """Somebody changed the object since it was read."""

    expected: int
    actual: int
    code = "revision_mismatch"
    title = "It changed since you read it"

    def __str__(self) -> str:
        return (
            f"You named revision {self.expected}, but it is at {self.actual}. Nothing changed; "
            "read it again and repeat what still applies."
        )

    @property
    def fields(self) -> Mapping[str, str]:
        return {"expected": str(self.expected), "actual": str(self.actual)}
