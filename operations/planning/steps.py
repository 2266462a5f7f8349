"""Kinds of step, and who carries each out. Pure."""

from __future__ import annotations

from enum import StrEnum


class StepKind(StrEnum):
    """What a step does.

    `reserve`, `release`, `verify` and `forget` are the control plane's own: done in the
    transaction that records them. `apply` is a node's: sent, and then evidence is awaited.
    """

    RESERVE = "reserve"
    APPLY = "apply"
    RELEASE = "release"
    VERIFY = "verify"
    FORGET = "forget"


ON_NODE = frozenset({StepKind.APPLY})
"""Steps whose outcome can be unknown."""
