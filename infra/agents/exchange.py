"""The exchange listener's application: poll, report, renew, images, consoles.

Every request is tied to a node by the certificate its connection was opened with, and that
certificate is looked up in the database each time; a poll that waits looks it up again at each
wake. So a revocation holds from the next look on, wherever it was made.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from django.utils import timezone

from agent.protocol.messages import (
    POLL_PATH,
    RENEW_PATH,
    REPORT_PATH,
    ConsoleOrder,
    PollRequest,
    PollResponse,
    RenewRequest,
    RenewResponse,
    ReportRequest,
    ReportResponse,
)
from infra.agents.answers import Refused, answer, answered, parse
from infra.agents.images import IMAGE_PREFIX, send_image
from infra.agents.tls import fingerprint_of
from infra.agents.waking import NodeWakes, Waiter
from infra.authority import Authority
from infra.database_threads import DatabaseThreads
from infra.http import ClientGone, Receive, Reply, Scope, Send, read_body, text_of
from operations import enrolment
from operations.dispatch import installation_identity
from operations.enrolment import KnownNode

POLL_LIMIT = 64 * 1024
REPORT_LIMIT = 8 * 1024 * 1024
RENEW_LIMIT = 64 * 1024
"""Bytes of a body. A report may carry thousands of droplets and a long journal."""

FALLBACK_SECONDS = 5.0
"""A waiting poll looks this often without being woken: a lost NOTIFY costs no more."""


class TakePoll(Protocol):
    """Decides what a poll is answered; None lets it wait."""

    def __call__(
        self, node_id: UUID, request: PollRequest, *, now: datetime
    ) -> PollResponse | None: ...


class TakeReport(Protocol):
    """Records a report."""

    def __call__(
        self, node_id: UUID, request: ReportRequest, *, now: datetime
    ) -> ReportResponse: ...


class Consoles(Protocol):
    """What the exchange needs of the console relay."""

    async def pending_consoles(self, node_id: UUID) -> tuple[ConsoleOrder, ...]: ...

    async def serve(self, scope: Scope, receive: Receive, send: Send) -> None: ...


@dataclass
class Exchange:
    """The application of the exchange listener and what it works with."""

    authority: Authority
    threads: DatabaseThreads
    wakes: NodeWakes
    consoles: Consoles
    take_poll: TakePoll
    take_report: TakeReport
    clock: Callable[[], datetime] = field(default=timezone.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            await self.consoles.serve(scope, receive, send)
            return
        path = text_of(scope, "path")
        if path.startswith(IMAGE_PREFIX):
            await self._image(scope, receive, send)
            return
        reply = await answered(scope, partial(self._reply, path, scope, receive))
        if reply is not None:
            await reply.send(send)

    async def _reply(self, path: str, scope: Scope, receive: Receive) -> Reply:
        handlers: Mapping[str, Callable[[Scope, Receive], Awaitable[Reply]]] = {
            POLL_PATH: self._poll,
            REPORT_PATH: self._report,
            RENEW_PATH: self._renew,
        }
        handler = handlers.get(path)
        if handler is None:
            raise Refused(404, "path.unknown", "There is nothing at this path of the agent edge.")
        if scope["method"] != "POST":
            raise Refused(405, "method.wrong", "This path takes POST.", {"allow": "POST"})
        return await handler(scope, receive)

    async def _image(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def known() -> Reply:
            await self._known(scope)
            return Reply(200)

        reply = await answered(scope, known)
        if reply is not None and reply.status != 200:  # noqa: PLR2004  OK
            await reply.send(send)
        elif reply is not None:
            await send_image(scope, receive, send)

    async def _known(self, scope: Scope) -> KnownNode:
        return await self.threads.run(authenticated, fingerprint_of(scope), now=self.clock())

    async def _report(self, scope: Scope, receive: Receive) -> Reply:
        body = await read_body(scope, receive, limit=REPORT_LIMIT)
        now = self.clock()

        def record() -> ReportResponse:
            node = authenticated(fingerprint_of(scope), now=now)
            return self.take_report(node.node_id, parse(ReportRequest, body), now=now)

        return answer(await self.threads.run(record))

    async def _renew(self, scope: Scope, receive: Receive) -> Reply:
        request = parse(RenewRequest, await read_body(scope, receive, limit=RENEW_LIMIT))
        now = self.clock()

        def renew() -> str:
            node = authenticated(fingerprint_of(scope), now=now)
            renewed = enrolment.renew(node, request.csr_pem, signer=self.authority, now=now)
            return renewed.certificate_pem

        certificate = await self.threads.run(renew)
        return answer(RenewResponse(certificate_pem=certificate, ca_pem=self.authority.pem))

    async def _poll(self, scope: Scope, receive: Receive) -> Reply:
        request = parse(PollRequest, await read_body(scope, receive, limit=POLL_LIMIT))
        node = await self._known(scope)
        order = (request.incarnation.ordinal, request.number)
        with self.wakes.watch(node.node_id, order) as waiter:
            return answer(await self._wait_for_work(node, request, waiter, receive))

    async def _wait_for_work(
        self, node: KnownNode, request: PollRequest, waiter: Waiter, receive: Receive
    ) -> PollResponse:
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + request.wait_seconds
        gone = asyncio.create_task(_client_gone(receive, waiter))
        try:
            while not waiter.superseded:
                response = await self._look(node, request)
                if response is not None:
                    return response
                left = ends_at - loop.time()
                if left <= 0 or self.wakes.stopping:
                    break
                jitter = random.uniform(0.8, 1.2)  # noqa: S311  spreads looks, keeps no secret
                await waiter.woken(within=min(left, FALLBACK_SECONDS * jitter))
                if gone.done():
                    raise ClientGone
        finally:
            gone.cancel()
            with suppress(asyncio.CancelledError):
                await gone
        installation = await self.threads.run(installation_identity)
        return PollResponse(
            installation=installation, delivery=request.delivery, superseded=waiter.superseded
        )

    async def _look(self, node: KnownNode, request: PollRequest) -> PollResponse | None:
        now = self.clock()

        def look() -> PollResponse | None:
            authenticated(node.fingerprint, now=now)
            return self.take_poll(node.node_id, request, now=now)

        response = await self.threads.run(look)
        consoles = await self.consoles.pending_consoles(node.node_id)
        if not consoles:
            return response
        if response is None:
            installation = await self.threads.run(installation_identity)
            response = PollResponse(installation=installation, delivery=request.delivery)
        return response.model_copy(update={"consoles": consoles})


async def _client_gone(receive: Receive, waiter: Waiter) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    waiter.wake()


def authenticated(fingerprint: str | None, *, now: datetime) -> KnownNode:
    """Return the node behind a connection's certificate. Raises Refused, IdentityRefused."""
    if fingerprint is None:
        raise Refused(403, "certificate.missing", "The connection showed no certificate.")
    return enrolment.authenticate(fingerprint, now=now)
