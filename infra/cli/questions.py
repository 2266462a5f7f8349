"""One request as data, what came back, and what may be concluded from it. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from infra.cli.documents import Document, text
from infra.cli.failures import ExitCode, Failure
from infra.cli.problems import failure_of
from infra.cli.target import Target

Parameters = Mapping[str, str]

SERVER_ERROR = 500
REFUSAL = 400

RETRIED_STATUSES = frozenset({429, 502, 503, 504})
ROLLED_BACK = frozenset({"internal", "busy"})
"""Codes with which the server itself says that nothing was changed."""

IN_PROGRESS = frozenset({"idempotency.in_progress"})
"""Our first attempt is still at work behind a connection that we lost."""


@dataclass(frozen=True)
class Question:
    """A request that can be sent again as it is. `parts` makes the body anew each time."""

    method: str
    path: str
    query: Parameters = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    parts: Callable[[], Iterator[bytes]] | None = None

    @property
    def changes(self) -> bool:
        return self.method not in {"GET", "HEAD"}

    @property
    def key(self) -> str:
        return self.headers.get("Idempotency-Key", "")


@dataclass(frozen=True)
class Answer:
    """What the server said. Header names are in small letters."""

    status: int
    document: Document = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def etag(self) -> str:
        return self.headers.get("etag", "")

    @property
    def is_refusal(self) -> bool:
        return self.status >= REFUSAL

    @property
    def may_be_asked_again(self) -> bool:
        """Return whether the same question may get another answer soon."""
        return self.status in RETRIED_STATUSES or text(self.document, "code") in IN_PROGRESS

    def retry_after(self, otherwise: float, *, most: float = 30.0) -> float:
        """Return how many seconds to wait before asking again."""
        told = self.headers.get("retry-after", "")
        return min(float(told), most) if told.isdecimal() else otherwise


def unreachable(target: Target, why: str) -> Failure:
    """Return the failure of a server that nothing could be sent to."""
    start = " Start it with: ./manage.py up" if target.is_loopback else ""
    return Failure(
        ExitCode.ERROR,
        f"The server at {target.url} (from {target.source}) cannot be reached: {why}",
        safe="Nothing was sent; guests and agents do not need this server to go on.",
        advice=(start or "Check the address with: infra context list").strip(),
    )


def lost(target: Target, question: Question, why: str) -> Failure:
    """Return the failure of a question whose answer never came, however often it was asked."""
    if not question.changes:
        return Failure(
            ExitCode.ERROR,
            f"The server at {target.url} did not answer: {why}",
            safe="Nothing was changed: this only reads.",
            advice="Repeat the command.",
        )
    return uncertain(f"The answer of {target.url} was lost: {why}", question)


def not_ours(target: Target, status: int) -> Failure:
    """Return the failure of an answer that no Infra gives."""
    return Failure(
        ExitCode.ERROR,
        f"{target.url} (from {target.source}) answered {status}, but not as Infra does.",
        advice="Check the address with: infra context list",
    )


def refused(question: Question, answer: Answer) -> Failure:
    """Return the failure an answer of 400 or above stands for."""
    failure = failure_of(answer.status, answer.document)
    is_known = text(answer.document, "code") in ROLLED_BACK or answer.status < SERVER_ERROR
    if is_known or not question.changes:
        return failure
    return uncertain(failure.what, question, request_id=failure.request_id)


def uncertain(what: str, question: Question, *, request_id: str = "") -> Failure:
    """Return the failure of a change that may or may not have been made."""
    return Failure(
        ExitCode.UNCERTAIN,
        f"{what.rstrip('.')}. Whether the change was made is not known.",
        safe="Repeating it under the same key is safe: it cannot be done twice.",
        advice=f"Repeat it with: infra --idempotency-key {question.key} ...\n"
        "Or look first with: infra get operations",
        request_id=request_id,
    )
