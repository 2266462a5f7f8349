"""A guest's serial console, from the edge's relay through the agent to the guest and back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import UUID

import pytest
from django.conf import settings
from django.db import connection

from agent.drivers.fake import kill_guest
from infra.relay import Frame, Letter, Relay, Session, Subscription, decode
from inventory.identifiers import uuid7
from operations.outbox import wake_node
from tests.agent.site import Site, create, make_image
from tests.agent.site import site as site  # noqa: PLC0414  a fixture
from tests.agents.conftest import authority, edge, installation, node  # noqa: F401  fixtures

T = TypeVar("T")


def with_console(site: Site, resource_id: UUID, use: Callable[..., Awaitable[T]]) -> T:
    """Want the console as a browser's edge does, and use it: `use(coming, send)`."""

    async def main() -> T:
        relay = Relay(settings.ENVIRONMENT.redis())
        session = Session(uuid7(), site.node.pk, resource_id, person="ada")
        try:
            await relay.open_session(session)
            async with relay.subscribe(session.up) as coming:
                await relay.order(session)
                await asyncio.to_thread(wake, site.node.pk)
                return await use(coming, lambda frame: relay.send(session.down, frame))
        finally:
            await relay.close()

    return asyncio.run(main())


def wake(node_id: UUID) -> None:
    wake_node(node_id)
    connection.close()  # this thread has one of its own


async def next_frame(coming: Subscription, letter: Letter) -> Frame:
    while True:
        message = await coming.next(within=15)
        assert message is not None, f"nothing came while waiting for {letter}"
        frame = decode(message[1])
        if frame.letter is letter:
            return frame
        assert frame.letter is not Letter.CLOSED, frame.text


async def heard(coming: Subscription, text: bytes) -> bytes:
    got = b""
    while text not in got:
        got += (await next_frame(coming, Letter.DATA)).payload
    return got


@pytest.fixture
def droplet(site: Site) -> UUID:
    site.enrol()
    make_image()
    with site.agent():
        created = site.settle(create())
    assert created.resource_id is not None
    return created.resource_id


def test_bytes_go_to_the_guest_and_come_back(site: Site, droplet: UUID) -> None:
    async def use(coming: Subscription, send: Callable[[Frame], Awaitable[None]]) -> bytes:
        await next_frame(coming, Letter.OPENED)
        greeting = await heard(coming, b"HELLO hello")
        await send(Frame(Letter.DATA, b"echo me"))
        return greeting + await heard(coming, b"echo me")

    with site.agent():
        got = with_console(site, droplet, use)

    assert b"HELLO hello" in got


def test_a_guest_that_ends_ends_its_console(site: Site, droplet: UUID) -> None:
    async def use(coming: Subscription, send: Callable[[Frame], Awaitable[None]]) -> str:
        await next_frame(coming, Letter.OPENED)
        await heard(coming, b"HELLO hello")  # the node has opened the guest's console by now
        await asyncio.to_thread(kill_guest, site.guests, droplet)
        return (await next_frame(coming, Letter.CLOSED)).text

    with site.agent():
        assert "ended" in with_console(site, droplet, use)


def test_a_guest_that_is_off_has_no_console_and_says_why(site: Site, droplet: UUID) -> None:
    async def use(coming: Subscription, send: Callable[[Frame], Awaitable[None]]) -> str:
        return (await next_frame(coming, Letter.CLOSED)).text

    kill_guest(site.guests, droplet)
    with site.agent():
        assert "running" in with_console(site, droplet, use)
