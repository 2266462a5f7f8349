"""What a refusal of the control plane asks the agent to do. Pure."""

from __future__ import annotations

from enum import StrEnum

_UNCHANGING = frozenset(
    {"certificate.revoked", "certificate.unknown", "certificate.missing", "node.left"}
)
_BAD_REQUEST = 400
_TOO_LARGE = 413
_NOT_FOUND = 404


class Verdict(StrEnum):
    """How to go on.

    `retry`: ask again after a rest. `reload`: another identity of this node is in use, take that.
    `recover`: the certificate ran out. `barred`: asking again will not help until a person has
    done something. `misunderstood`: the two sides do not speak alike.
    """

    RETRY = "retry"
    RELOAD = "reload"
    RECOVER = "recover"
    BARRED = "barred"
    MISUNDERSTOOD = "misunderstood"


def judge_refusal(status: int, code: str) -> Verdict:
    """Return how to go on after an answer with this status and code."""
    if code == "certificate.superseded":
        return Verdict.RELOAD
    if code == "certificate.expired":
        return Verdict.RECOVER
    if code in _UNCHANGING or status in {401, 403}:
        return Verdict.BARRED
    if status in {_BAD_REQUEST, _NOT_FOUND, _TOO_LARGE}:
        return Verdict.MISUNDERSTOOD
    return Verdict.RETRY


def speaks_of_expiry(text: str) -> bool:
    """Return whether a failed TLS handshake says that our certificate ran out."""
    return "certificate expired" in text.lower().replace("_", " ")
