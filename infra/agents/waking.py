"""Who waits in this process for news of a node, and how they are woken."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from operations.outbox import EVERY_NODE

PollOrder = tuple[int, int]
"""(incarnation ordinal, poll number): which of two polls of a node is the later."""


class Waiter:
    """One live exchange. `superseded` says that a later poll of the node has come in here."""

    def __init__(self, order: PollOrder | None) -> None:
        self.order = order
        self.superseded = False
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def woken(self, *, within: float) -> None:
        """Return when woken, or after `within` seconds; wakes before the call count too."""
        try:
            async with asyncio.timeout(max(within, 0)):
                await self._woken.wait()
        except TimeoutError:
            return
        self._woken.clear()


class NodeWakes:
    """The live exchanges of this process, by node."""

    def __init__(self) -> None:
        self.stopping = False
        self._waiters: dict[UUID, set[Waiter]] = {}

    @contextmanager
    def watch(self, node_id: UUID, order: PollOrder | None = None) -> Iterator[Waiter]:
        """Register an exchange for as long as the block runs.

        With an `order` it is a poll: earlier polls of the node are superseded.
        """
        waiter = Waiter(order)
        others = self._waiters.setdefault(node_id, set())
        if order is not None:
            for other in others:
                if other.order is not None and other.order < order:
                    other.superseded = True
                    other.wake()
        others.add(waiter)
        try:
            yield waiter
        finally:
            others.discard(waiter)
            if not others and self._waiters.get(node_id) is others:
                del self._waiters[node_id]

    def live(self, node_id: UUID) -> int:
        """Return how many exchanges of the node are live in this process."""
        return len(self._waiters.get(node_id, ()))

    def heard(self, _channel: str, payload: str) -> None:
        """Wake the node named by the payload (32 hex digits), or all."""
        if payload == EVERY_NODE:
            self.wake_all()
            return
        try:
            node_id = UUID(hex=payload)
        except ValueError:
            return
        for waiter in self._waiters.get(node_id, ()):
            waiter.wake()

    def wake_all(self) -> None:
        for waiters in self._waiters.values():
            for waiter in waiters:
                waiter.wake()

    def stop(self) -> None:
        """End all waiting; live polls answer at once that there is nothing."""
        self.stopping = True
        self.wake_all()
