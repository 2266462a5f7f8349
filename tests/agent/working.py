"""An agent without a network: ledger, turns and loop over the fake hypervisor in a folder."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from agent.database import Database
from agent.drivers.base import Hypervisor, ImageStream
from agent.drivers.fake import FakeHypervisor
from agent.intents import Intents
from agent.journal import Journal
from agent.ledger import Entry, Ledger
from agent.loop import Loop
from agent.protocol.declarations import Declaration, ImageReference
from agent.protocol.messages import StepOrder, StepResult
from agent.protocol.values import InstallationIdentity
from agent.turns import Surroundings, Turns
from tests.waiting import wait_until

HOME = InstallationIdentity(id=UUID(int=9), epoch=1, token="t" * 32)
NODE = UUID(int=5)


@contextmanager
def no_bytes(image: ImageReference):
    yield iter([b""])


@dataclass
class Working:
    """One agent over a folder. `silent` is for how long the control plane was not heard."""

    folder: Path
    silent: float = 0.0
    stream: ImageStream = no_bytes
    told: int = 0
    _steps: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.fake = FakeHypervisor(
            self.folder / "guests", installation_id=HOME.id, node_id=NODE, verify_images=False
        )
        self.open()

    def open(self, hypervisor: Hypervisor | None = None) -> None:
        self.database = Database(self.folder / "ledger.sqlite")
        self.ledger = Ledger(self.database)
        self.journal = Journal(self.database)
        around = Surroundings(
            ledger=self.ledger,
            intents=Intents(self.database, ordinal=1),
            journal=self.journal,
            hypervisor=hypervisor or self.fake,
            stream=self.stream,
            link_silent=lambda: self.silent,
            told=self._count,
        )
        self.turns = Turns(around)
        self.loop = Loop(around, self.turns, survey_seconds=0.3)

    def _count(self) -> None:
        self.told += 1

    @property
    def guests(self) -> Path:
        return self.folder / "guests"

    def order(self, declaration: Declaration, step: int = 0) -> UUID:
        """Take an order as the link does, and wake the loop. Returns the step's id."""
        self._steps += 1
        number = UUID(int=1000 + (step or self._steps))
        order = StepOrder(step_id=number, operation_id=number, declaration=declaration)
        self.ledger.take(HOME, self._steps, [order], at=1.0)
        self.loop.wake([declaration.resource_id])
        return number

    def entry(self, resource_id: UUID) -> Entry:
        found = self.ledger.find(resource_id)
        assert found is not None
        return found

    def results(self) -> dict[UUID, StepResult]:
        return {result.step_id: result for result in self.ledger.results(limit=1000)}

    def result(self, step: UUID, *, seconds: float = 10) -> StepResult:
        return wait_until(lambda: self.results().get(step), seconds=seconds, what="the result")

    def events(self) -> list[str]:
        return [line.event for line in self.journal.read(limit=1000)]

    def running(self) -> AbstractContextManager[None]:
        return run_in_thread(self.loop.run)


@contextmanager
def run_in_thread(work: Callable[[], object]):
    """Run a coroutine function in an event loop of its own until the block ends."""
    ready = threading.Event()
    state: dict[str, object] = {}

    async def main() -> None:
        task = asyncio.ensure_future(work())
        state["loop"], state["task"] = asyncio.get_running_loop(), task
        ready.set()
        with suppress(asyncio.CancelledError):
            await task

    thread = threading.Thread(target=lambda: asyncio.run(main()), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield
    finally:
        task, loop = state["task"], state["loop"]
        if not task.done():
            loop.call_soon_threadsafe(task.cancel)
        thread.join(15)
        assert not thread.is_alive(), "the loop did not stop"
        if task.done() and not task.cancelled() and task.exception():
            raise task.exception()
