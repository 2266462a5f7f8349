"""What a planner answers: what to do, or what is waited for, or why it cannot be."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from agent.actions import Action


class Waiting(StrEnum):
    """What a plan waits for."""

    HYPERVISOR = "hypervisor"
    GUEST_STOP = "guest_stop"
    GUEST_PAUSED = "guest_paused"


@dataclass(frozen=True)
class Wait:
    """What is waited for, in words too; `seconds` says when to look again at the latest."""

    on: Waiting
    text: str
    seconds: float


@dataclass(frozen=True)
class Problem:
    """Why the node cannot be made to match by anything the agent may do; `code` is permanent."""

    code: str
    text: str


@dataclass(frozen=True)
class Plan:
    """The actions to take, in order: take the first, look, plan again.

    All three empty means that the node matches the declaration.
    """

    actions: tuple[Action, ...] = ()
    waiting_on: Wait | None = None
    problem: Problem | None = None

    @property
    def converged(self) -> bool:
        return not self.actions and self.waiting_on is None and self.problem is None
