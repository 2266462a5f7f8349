"""Keeps the node as it was declared: surveys it, and gives every droplet its turns.

A few droplets are worked on at once, and none by two turns. Images are fetched beside that, so
that a slow one delays only those that wait for it. Stopping the loop stops no guest.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import structlog

from agent import clock
from agent.actions import FetchImage
from agent.apply import apply
from agent.drivers.base import DriverError, OutcomeUnknown
from agent.journal import Severity
from agent.planning.surveying import Held, find_changed, find_suspects
from agent.protocol.declarations import ImageReference
from agent.protocol.observations import DropletObservation, Inventory
from agent.turns import After, Surroundings, Turns

WORKERS = 4
FETCHES = 2
"""Droplets worked on and images fetched at once: small, as guests need the machine as well."""

SURVEY_SECONDS = 5.0
"""A survey comes this often without any event, and no sooner than the next after the last."""

SURVEY_GAP_SECONDS = 0.1
FAILED_TURN_SECONDS = 5.0
_log = structlog.get_logger(__name__)


class Loop:
    """Runs turns until it is cancelled. `wake` and `look` may be called from any thread."""

    def __init__(
        self, around: Surroundings, turns: Turns, *, survey_seconds: float = SURVEY_SECONDS
    ) -> None:
        self._around = around
        self._turns = turns
        self._survey_seconds = survey_seconds
        self._workers = ThreadPoolExecutor(WORKERS, thread_name_prefix="turn")
        self._surveyor = ThreadPoolExecutor(1, thread_name_prefix="survey")
        self._fetchers = ThreadPoolExecutor(FETCHES, thread_name_prefix="fetch")
        self._due: dict[UUID, float] = {}
        self._running: set[UUID] = set()
        self._again: set[UUID] = set()
        self._fetching: dict[str, set[UUID]] = {}
        self._before: dict[UUID, DropletObservation] = {}
        self._problem = ""
        self._tasks: set[asyncio.Task[None]] = set()
        self._ready = asyncio.Event()
        self._changed = asyncio.Event()
        self._runner: asyncio.AbstractEventLoop | None = None

    def wake(self, resource_ids: Iterable[UUID]) -> None:
        """Give these droplets a turn now: something new was declared of them."""
        woken = list(resource_ids)
        for resource_id in woken:
            self._turns.forgive(resource_id)
        self._call(lambda: self._make_due(woken))

    def look(self) -> None:
        """Survey the node soon: something on it changed."""
        self._call(self._changed.set)

    def _call(self, do: Callable[[], None]) -> None:
        if self._runner is not None and not self._runner.is_closed():
            self._runner.call_soon_threadsafe(do)

    async def run(self) -> None:
        """Work until cancelled."""
        self._runner = asyncio.get_running_loop()
        self._tell_interrupted()
        self._around.hypervisor.watch(self.look)
        surveying = asyncio.create_task(self._keep_surveying())
        try:
            while True:
                self._launch()
                await self._pause()
        finally:
            surveying.cancel()
            for task in self._tasks:
                task.cancel()
            for pool in (self._workers, self._surveyor, self._fetchers):
                pool.shutdown(wait=False, cancel_futures=True)

    async def settle(self, seconds: float) -> None:
        """After the end: wait for driver calls that are under way, but not longer than this."""
        ended = asyncio.to_thread(self._workers.shutdown, wait=True)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(ended, seconds)

    def _tell_interrupted(self) -> None:
        for intent in self._around.intents.take_interrupted(at=clock.now()):
            self._around.journal.write(
                "agent.interrupted",
                f"The agent ended in the middle of {intent.action} of generation "
                f"{intent.generation}; what came of it is looked at first.",
                at=clock.now(),
                severity=Severity.WARNING,
                resource_id=intent.resource_id,
            )

    def _make_due(self, resource_ids: Iterable[UUID], *, after: float = 0.0) -> None:
        moment = clock.steady() + after
        for resource_id in resource_ids:
            if resource_id in self._running:
                self._again.add(resource_id)
            else:
                self._due[resource_id] = min(moment, self._due.get(resource_id, moment))
        self._ready.set()

    def _launch(self) -> None:
        now = clock.steady()
        ready = sorted((when, key) for key, when in self._due.items() if when <= now)
        for _, resource_id in ready[: WORKERS - len(self._running)]:
            del self._due[resource_id]
            self._running.add(resource_id)
            self._start(self._take_turn(resource_id))

    async def _pause(self) -> None:
        """Wait for a wake-up, or until the next droplet is due and somebody is free for it."""
        left = None
        if self._due and len(self._running) < WORKERS:
            left = max(0.0, min(self._due.values()) - clock.steady())
        try:
            async with asyncio.timeout(left):
                await self._ready.wait()
        except TimeoutError:
            pass
        self._ready.clear()

    async def _take_turn(self, resource_id: UUID) -> None:
        runner = asyncio.get_running_loop()
        try:
            after = await runner.run_in_executor(self._workers, self._turns.take, resource_id)
        except Exception:  # noqa: BLE001  one droplet's fault must not end the others' turns
            _log.exception("turn_failed", resource=str(resource_id))
            after = After(FAILED_TURN_SECONDS)
        finally:
            self._running.discard(resource_id)
        self._follow(resource_id, after)

    def _follow(self, resource_id: UUID, after: After) -> None:
        if resource_id in self._again:
            self._again.discard(resource_id)
            self._make_due([resource_id])
        elif after.image is not None:
            self._fetch(after.image, resource_id)
        elif after.seconds is not None:
            self._make_due([resource_id], after=after.seconds)
        self._ready.set()

    def _fetch(self, image: ImageReference, resource_id: UUID) -> None:
        waiting = self._fetching.get(image.sha256)
        if waiting is not None:
            waiting.add(resource_id)
            return
        self._fetching[image.sha256] = {resource_id}
        self._start(self._fetch_one(image))

    async def _fetch_one(self, image: ImageReference) -> None:
        runner = asyncio.get_running_loop()
        around, error = self._around, None
        _log.info("fetching_image", sha256=image.sha256, size=image.size_bytes)

        def fetch() -> None:
            apply(around.hypervisor, FetchImage(image), stream=around.stream)

        try:
            await runner.run_in_executor(self._fetchers, fetch)
        except DriverError as failure:
            error = failure
        except Exception as failure:  # noqa: BLE001  as above; what came of it is not known
            _log.exception("fetch_failed", sha256=image.sha256)
            error = OutcomeUnknown("image.failed", str(failure))
        waiting = self._fetching.pop(image.sha256)
        for resource_id in waiting:
            after = After(0.0) if error is None else await self._miss(resource_id, error)
            if after.seconds is not None:
                self._make_due([resource_id], after=after.seconds)

    async def _miss(self, resource_id: UUID, error: DriverError) -> After:
        runner = asyncio.get_running_loop()
        return await runner.run_in_executor(
            self._workers, self._turns.miss_image, resource_id, error
        )

    async def _keep_surveying(self) -> None:
        while True:
            self._changed.clear()
            try:
                await self._survey()
            except Exception:  # noqa: BLE001  the next survey may go well
                _log.exception("survey_failed")
            try:
                async with asyncio.timeout(self._survey_seconds):
                    await self._changed.wait()
            except TimeoutError:
                pass
            await asyncio.sleep(SURVEY_GAP_SECONDS)

    async def _survey(self) -> None:
        runner = asyncio.get_running_loop()
        inventory, suspects = await runner.run_in_executor(self._surveyor, self._look_around)
        if inventory.problem != self._problem:
            self._problem = inventory.problem
            _log.warning("inventory", problem=inventory.problem, complete=inventory.complete)
        changed = find_changed(inventory, self._before)
        seen = {droplet.resource_id: droplet for droplet in inventory.droplets}
        self._before = seen if inventory.complete else self._before | seen
        # What waits for its moment keeps waiting, unless it is what changed.
        waiting = self._due.keys() | self._running | set().union(*self._fetching.values())
        self._make_due((suspects & changed) | (suspects - waiting))
        if changed:
            self._around.told()

    def _look_around(self) -> tuple[Inventory, frozenset[UUID]]:
        held = {
            key: Held(entry.declaration, settled=entry.converged and not entry.steps)
            for key, entry in self._around.ledger.entries().items()
        }
        try:
            inventory = self._around.hypervisor.inventory()
        except DriverError as error:
            inventory = Inventory(complete=False, problem=str(error))
        return inventory, find_suspects(held, inventory)

    def _start(self, work: Coroutine[object, object, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
