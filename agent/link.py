"""The link to the control plane: a long poll that brings work down, reports that carry evidence up.

Two connections, each with its own rests. Nothing here touches a guest; what is heard goes into
the ledger first and wakes the loop after that.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from uuid import UUID

import structlog

from agent import clock
from agent.credentials import LOOK_SECONDS, Credentials
from agent.identity import BadIdentity
from agent.journal import Journal, Severity
from agent.ledger import Acceptance, Ledger, Rival, Taken
from agent.line import Line
from agent.numbers import Growing
from agent.planning.answers import Verdict, judge_refusal, speaks_of_expiry
from agent.planning.repair import REPAIR_AFTER_SECONDS, backoff_seconds
from agent.protocol.messages import (
    POLL_PATH,
    REPORT_PATH,
    ConsoleOrder,
    PollRequest,
    PollResponse,
    ReportResponse,
)
from agent.protocol.values import Incarnation
from agent.reporting import Reporter
from agent.wire import TurnedAway, Unheard

POLL_SECONDS = 25.0
POLL_SLACK_SECONDS = 15.0
"""The answer to a poll may come this much later than it was to wait for work."""

HEARTBEAT_SECONDS = 10.0
DEBOUNCE_SECONDS = 0.05
"""Changes that come together travel together."""

FIRST_REST_SECONDS = 0.5
LONGEST_REST_SECONDS = 20.0
SLOW_FIRST_SECONDS = 30.0
SLOW_LONGEST_SECONDS = 600.0
"""For refusals that only a person can end: asked again now and then, never hotly."""

LEDGER_WAIT_SECONDS = 5.0

_log = structlog.get_logger(__name__)
_Failure = Unheard | TurnedAway | Rival | BadIdentity
_FAILURES = (Unheard, TurnedAway, Rival, BadIdentity)


class Ear:
    """For how long the control plane has not been heard; counted from the agent's own start."""

    def __init__(self) -> None:
        self._last = clock.steady()

    def heard(self) -> float:
        """Take note of an answer; return how long the silence before it was, in seconds."""
        silent, self._last = self.silent(), clock.steady()
        return silent

    def silent(self) -> float:
        return clock.steady() - self._last


@dataclass(frozen=True)
class Ends:
    """What the link works with, and whom it tells."""

    credentials: Credentials
    incarnation: Incarnation
    ledger: Ledger
    journal: Journal
    polls: Growing
    reporter: Reporter
    ear: Ear
    ordered: Callable[[Iterable[UUID]], None]
    wanted: Callable[[ConsoleOrder], None]


class Link:
    """Polls, reports and renews until cancelled. `tell` may be called from any thread."""

    def __init__(self, ends: Ends, *, heartbeat_seconds: float = HEARTBEAT_SECONDS) -> None:
        self._ends = ends
        self._heartbeat_seconds = heartbeat_seconds
        self._news = asyncio.Event()
        self._reported = asyncio.Event()
        # Wishes for a report with the ledger, and the newest wish that was met.
        self._wishes, self._met = 1, 0
        self._said: dict[str, str] = {}
        self._runner: asyncio.AbstractEventLoop | None = None

    def tell(self) -> None:
        """Report soon: something changed that the control plane should hear of."""
        if self._runner is not None and not self._runner.is_closed():
            self._runner.call_soon_threadsafe(self._news.set)

    async def run(self) -> None:
        """Keep the link up until cancelled."""
        self._runner = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._keep(POLL_PATH, self._poll))
            group.create_task(self._keep(REPORT_PATH, self._report))
            group.create_task(self._keep_identity())

    async def _keep(self, what: str, once: Callable[[Line], Awaitable[None]]) -> None:
        """Do it again and again, resting after each failure."""
        line, attempt = Line(), 0
        try:
            while True:
                try:
                    await once(line)
                    attempt = 0
                except _FAILURES as error:
                    attempt += 1
                    await self._rest(await self._fail(what, error, attempt))
        finally:
            await line.close()

    async def _rest(self, seconds: float) -> None:
        """Wait, but not longer than until the node has another identity."""
        try:
            async with asyncio.timeout(seconds):
                await self._ends.credentials.changed.wait()
        except TimeoutError:
            pass

    async def _poll(self, line: Line) -> None:
        ends = self._ends
        request = PollRequest(
            incarnation=ends.incarnation,
            number=await asyncio.to_thread(ends.polls.next),
            delivery=ends.ledger.delivery(),
            wait_seconds=POLL_SECONDS,
        )
        seconds = POLL_SECONDS + POLL_SLACK_SECONDS
        response = await line.ask(
            ends.credentials.identity, POLL_PATH, request, PollResponse, seconds=seconds
        )
        if response.superseded:
            text = "A later poll of this node was answered: another agent speaks for it."
            raise TurnedAway(409, "poll.superseded", text)
        await self._take(response)

    async def _take(self, response: PollResponse) -> None:
        ends = self._ends
        taken = await asyncio.to_thread(
            ends.ledger.take,
            response.installation,
            response.delivery,
            response.orders,
            at=clock.now(),
        )
        await self._hear(POLL_PATH)
        if taken:
            await asyncio.to_thread(self._journal_refusals, taken)
            ends.ordered([each.order.declaration.resource_id for each in taken])
            self._news.set()
        for console in response.consoles:
            ends.wanted(console)
        if response.ledger_wanted:
            await self._report_in_full()

    async def _report_in_full(self) -> None:
        """Let a report with the ledger go before the next poll, which would only ask again."""
        self._wishes += 1
        self._reported.clear()
        self._news.set()
        try:
            async with asyncio.timeout(LEDGER_WAIT_SECONDS):
                await self._reported.wait()
        except TimeoutError:
            pass

    def _journal_refusals(self, taken: Iterable[Taken]) -> None:
        for each in taken:
            if each.acceptance in {Acceptance.SUPERSEDED, Acceptance.CONFLICTING}:
                declaration = each.order.declaration
                self._ends.journal.write(
                    f"order.{each.acceptance}",
                    f"An order of generation {declaration.generation} was refused.",
                    at=clock.now(),
                    severity=Severity.WARNING,
                    resource_id=declaration.resource_id,
                    step_id=each.order.step_id,
                )

    async def _report(self, line: Line) -> None:
        await self._wait_for_news()
        ends, wish = self._ends, self._wishes
        self._news.clear()
        request = await asyncio.to_thread(ends.reporter.compose, full=wish > self._met)
        try:
            response = await line.ask(
                ends.credentials.identity, REPORT_PATH, request, ReportResponse
            )
        except (Unheard, TurnedAway):
            # What the control plane knows after that is not known: tell it everything.
            self._wishes += 1
            self._news.set()
            raise
        more = await asyncio.to_thread(ends.reporter.take, request, response)
        await self._hear(REPORT_PATH)
        if response.stale:
            _log.warning("report_stale", sequence=request.sequence)
        if request.ledger is not None:
            self._met = wish
        if self._met == self._wishes:
            self._reported.set()
        if more:
            self._news.set()

    async def _wait_for_news(self) -> None:
        spread = random.uniform(0.8, 1.0)  # noqa: S311  spreads beats, keeps no secret
        try:
            async with asyncio.timeout(self._heartbeat_seconds * spread):
                await self._news.wait()
        except TimeoutError:
            return
        await asyncio.sleep(DEBOUNCE_SECONDS)

    async def _keep_identity(self) -> None:
        """Renew in time, and notice when the machine was enrolled anew."""
        line, attempt = Line(), 0
        try:
            while True:
                wait = LOOK_SECONDS
                try:
                    await self._ends.credentials.reload()
                    if self._ends.credentials.renewal_due():
                        await self._ends.credentials.renew(line)
                        await self._note("identity.renewed", "The certificate was renewed.")
                    attempt = 0
                except _FAILURES as error:
                    attempt += 1
                    wait = max(wait, await self._fail("renewal", error, attempt))
                await asyncio.sleep(wait)
        finally:
            await line.close()

    async def _hear(self, what: str) -> None:
        silent = self._ends.ear.heard()
        if self._said.pop(what, None) is not None:
            _log.info("heard_again", what=what, silent_seconds=round(silent, 1))
        if silent >= REPAIR_AFTER_SECONDS:
            text = f"The control plane is heard again, after {silent:.0f} s."
            await self._note("link.restored", text)

    async def _fail(self, what: str, error: _Failure, attempt: int) -> float:
        """Say once what is wrong, do what may help, return how long to rest."""
        verdict = _verdict(error, run_out=self._ends.credentials.has_run_out())
        slow = verdict in {Verdict.BARRED, Verdict.MISUNDERSTOOD}
        await self._say(what, verdict, error)
        if verdict is Verdict.RELOAD and await self._ends.credentials.reload():
            return 0.0
        if verdict is Verdict.RECOVER and await self._recover():
            return 0.0
        if verdict is Verdict.BARRED and await self._ends.credentials.reload():
            return 0.0
        return backoff_seconds(
            attempt,
            chance=random.random(),  # noqa: S311  spreads attempts, keeps no secret
            first=SLOW_FIRST_SECONDS if slow else FIRST_REST_SECONDS,
            longest=SLOW_LONGEST_SECONDS if slow else LONGEST_REST_SECONDS,
        )

    async def _recover(self) -> bool:
        try:
            await self._ends.credentials.recover()
        except _FAILURES as error:
            await self._say("recovery", Verdict.RETRY, error)
            return False
        await self._note("identity.recovered", "The certificate had run out; there is a new one.")
        return True

    async def _say(self, what: str, verdict: Verdict, error: _Failure) -> None:
        code = error.code if isinstance(error, TurnedAway) else type(error).__name__
        if self._said.get(what) == code:
            return
        self._said[what] = code
        _log.warning("link_failed", what=what, verdict=verdict, code=code, error=str(error))
        if not isinstance(error, Unheard) and verdict is not Verdict.RELOAD:
            text = f"{what}: {error}. Guests go on as they are."
            await self._note(f"link.{verdict}", text, severity=Severity.ERROR)

    async def _note(self, event: str, text: str, *, severity: Severity = Severity.INFO) -> None:
        await asyncio.to_thread(
            self._ends.journal.write, event, text, at=clock.now(), severity=severity
        )


def _verdict(error: _Failure, *, run_out: bool) -> Verdict:
    match error:
        case TurnedAway():
            return judge_refusal(error.status, error.code)
        case Rival():
            return Verdict.BARRED
        case Unheard() if run_out or speaks_of_expiry(str(error)):
            return Verdict.RECOVER
        case _:
            return Verdict.RETRY
