"""The serial console from a browser to an agent and back, through both edges and Redis."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import UUID

import pytest
import uvicorn
from django.conf import settings
from django.core.handlers.asgi import ASGIHandler
from django.db import connection, transaction
from django.utils import timezone
from redis import Redis
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from agent.protocol.messages import PollResponse
from infra import consoles
from infra.agents.server import listen
from infra.relay import CLIENT_NAME
from infra.web import Web
from inventory.identifiers import uuid7
from inventory.models import AuditEvent, Membership, Node, Owner, Placement, Resource, User
from operations.enrolment import revoke_node_certificates
from tests.agents.conftest import FakeNode, new_token
from tests.agents.dialling import Dialled
from tests.events.conftest import session_of
from tests.waiting import wait_until


@dataclass
class Site:
    """A running web process, and a droplet that stands on the node."""

    port: int
    droplet: Resource

    def browser(self, user: User | None, *, origin: str | None = "") -> ClientConnection:
        headers = {"Cookie": f"{settings.SESSION_COOKIE_NAME}={session_of(user)}"} if user else {}
        place = f"127.0.0.1:{self.port}"
        return connect(
            f"ws://{place}/console/ws/droplets/{self.droplet.pk}",
            additional_headers=headers,
            origin=f"http://{place}" if origin == "" else origin,
        )


@contextmanager
def web_server() -> Iterator[int]:
    listening = listen("127.0.0.1", 0)
    ready = threading.Event()
    holder: list[uvicorn.Server] = []

    async def serve() -> None:
        config = uvicorn.Config(Web(ASGIHandler()), lifespan="off", log_config=None)
        config.timeout_graceful_shutdown = 1
        holder.append(uvicorn.Server(config))
        ready.set()
        await holder[0]._serve([listening])

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    wait_until(lambda: holder[0].started, what="the web server")
    try:
        yield listening.getsockname()[1]
    finally:
        holder[0].should_exit = True
        thread.join(15)
        assert not thread.is_alive()
        connection.close_pool()


@pytest.fixture
def admin(transactional_db: None) -> User:
    return User.objects.create_superuser("ada", password="correct horse")


@pytest.fixture
def droplet(node: Node) -> Resource:
    now = timezone.now()
    return Resource.objects.create(
        kind="droplet",
        name="hello",
        owner=Owner.objects.create(name="default", is_default=True),
        created_at=now,
        updated_at=now,
    )


@pytest.fixture
def placed(droplet: Resource, node: Node) -> Resource:
    Placement.objects.create(
        resource=droplet, node=node, vcpus=1, memory_mib=64, disk_gib=1,
        operation_id=uuid7(), claimed_at=timezone.now(),
    )  # fmt: skip
    return droplet


@pytest.fixture
def site(placed: Resource) -> Iterator[Site]:
    with web_server() as port:
        yield Site(port, placed)


def dial(machine: FakeNode, session_id: UUID | str) -> Dialled:
    url = machine.edge.exchange_url.replace("https", "wss")
    return Dialled(f"{url}/v1/consoles/{session_id}", machine.context())


def ordered(machine: FakeNode, number: int = 2) -> PollResponse:
    response = PollResponse.model_validate_json(machine.poll(number, wait=10).content)
    assert len(response.consoles) == 1
    return response


def notice(browser: ClientConnection) -> dict[str, str]:
    while True:
        message = browser.recv(timeout=15)
        if isinstance(message, str):
            return json.loads(message)


def output(browser: ClientConnection, count: int) -> bytes:
    got = b""
    while len(got) < count:
        message = browser.recv(timeout=10)
        assert isinstance(message, bytes), message
        got += message
    return got


@contextmanager
def open_console(site: Site, machine: FakeNode, user: User, number: int = 2):
    """Open both ends of a console; gives (browser, agent)."""
    with site.browser(user) as browser:
        assert notice(browser)["kind"] == "opening"
        order = ordered(machine, number).consoles[0]
        assert order.resource_id == site.droplet.pk
        with dial(machine, order.session_id) as agent:
            assert notice(browser)["kind"] == "open"
            yield browser, agent


def test_bytes_go_both_ways(site: Site, enrolled: FakeNode, admin: User) -> None:
    enrolled.settle()
    with open_console(site, enrolled, admin) as (browser, agent):
        agent.send(b"hello login: \xff\x00")
        assert output(browser, 15) == b"hello login: \xff\x00"
        browser.send("root\r")
        assert agent.recv(timeout=10) == b"root\r"
        browser.send(b"\x03")
        assert agent.recv(timeout=10) == b"\x03"
    assert AuditEvent.objects.get(action="droplet.console").actor_label == "ada"


def test_a_flood_of_output_arrives_whole(site: Site, enrolled: FakeNode, admin: User) -> None:
    enrolled.settle()
    flood = bytes(range(256)) * 16
    with open_console(site, enrolled, admin) as (browser, agent):
        writer = threading.Thread(target=lambda: [agent.send(flood) for _ in range(500)])
        writer.start()
        got = output(browser, len(flood) * 500)
        writer.join()
    assert got == flood * 500


def test_the_node_says_why_it_closed(site: Site, enrolled: FakeNode, admin: User) -> None:
    enrolled.settle()
    with open_console(site, enrolled, admin) as (browser, agent):
        agent.close(reason="The guest has stopped.")

        assert notice(browser) == {"kind": "closed", "message": "The guest has stopped."}


def test_the_agent_is_told_when_the_person_leaves(
    site: Site, enrolled: FakeNode, admin: User
) -> None:
    enrolled.settle()
    with open_console(site, enrolled, admin) as (browser, agent):
        browser.close()
        with pytest.raises(ConnectionClosed) as closed:
            agent.recv(timeout=10)
    assert closed.value.rcvd.reason == "The person closed the console."


def test_whoever_opens_it_next_takes_it_over(site: Site, enrolled: FakeNode, admin: User) -> None:
    enrolled.settle()
    bob = User.objects.create_superuser("bob")
    with (
        open_console(site, enrolled, admin) as (first, _),
        open_console(site, enrolled, bob, number=3) as (second, agent),
    ):
        assert notice(first)["message"] == "bob has taken the console over."
        agent.send(b"still here")
        assert output(second, 10) == b"still here"


def test_a_silent_node_is_named_with_the_age_of_its_last_word(
    site: Site, enrolled: FakeNode, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consoles, "ANSWER_SECONDS", 0.5)
    enrolled.settle()
    with site.browser(admin) as browser:
        notice(browser)
        end = notice(browser)

    assert end["kind"] == "closed"
    assert (
        "Node n1 has not opened the console within 0 s; it was last heard 0 s ago"
        in (end["message"])
        or "last heard 1 s ago" in end["message"]
    )


def test_an_order_that_was_lost_is_given_again(
    site: Site, enrolled: FakeNode, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consoles, "ORDER_AGAIN_SECONDS", 0.3)
    enrolled.settle()
    with site.browser(admin) as browser:
        notice(browser)
        lost = ordered(enrolled, 2).consoles[0]
        again = ordered(enrolled, 3).consoles[0]
        assert again == lost
        with dial(enrolled, again.session_id):
            assert notice(browser)["kind"] == "open"


def test_a_revoked_certificate_ends_its_consoles(
    site: Site, enrolled: FakeNode, admin: User, node: Node
) -> None:
    enrolled.settle()
    with open_console(site, enrolled, admin) as (browser, agent):
        with transaction.atomic():
            revoke_node_certificates(node, "stolen", now=timezone.now())

        assert "revoked: stolen" in notice(browser)["message"]
        with pytest.raises(ConnectionClosed):
            agent.recv(timeout=10)


def test_a_session_is_dialled_once_and_by_its_own_node(
    site: Site, enrolled: FakeNode, admin: User, node: Node
) -> None:
    enrolled.settle()
    other = FakeNode(enrolled.edge, enrolled.folder)
    other.enrol(new_token(Node.objects.create(name="n2", zone=node.zone)))
    with site.browser(admin) as browser:
        assert notice(browser)["kind"] == "opening"
        session_id = ordered(enrolled).consoles[0].session_id
        assert_turned_away(other, session_id)
        with dial(enrolled, session_id) as agent:
            assert notice(browser)["kind"] == "open"
            assert_turned_away(enrolled, session_id)
            agent.send(b"unharmed")
            assert output(browser, 8) == b"unharmed"


@pytest.mark.parametrize("session_id", ["01a22ff3-914d-75c4-b31c-4cc4f8809cf5", "odd"])
def test_a_session_that_nobody_opened_is_unknown(enrolled: FakeNode, session_id: str) -> None:
    assert_turned_away(enrolled, session_id)


def assert_turned_away(machine: FakeNode, session_id: UUID | str) -> None:
    with pytest.raises(InvalidStatus) as refused:
        dial(machine, session_id)
    assert refused.value.response.status_code == 403


def test_without_a_certificate_no_console_is_dialled(enrolled: FakeNode) -> None:
    url = enrolled.edge.exchange_url.replace("https", "wss")
    with (
        pytest.raises((ssl.SSLError, ConnectionClosed, OSError, InvalidHandshake)),
        Dialled(f"{url}/v1/consoles/{uuid7()}", enrolled.context(certificate=False)) as agent,
    ):
        agent.recv(timeout=5)


def test_a_droplet_on_no_node_says_so(droplet: Resource, admin: User) -> None:
    with web_server() as port, Site(port, droplet).browser(admin) as browser:
        assert notice(browser)["message"] == "Droplet hello is on no node, so it has no console."


@pytest.mark.parametrize("origin", [None, "http://evil.example", "null"])
def test_pages_of_others_cannot_open_a_console(site: Site, admin: User, origin: str | None) -> None:
    with pytest.raises(InvalidStatus) as refused:
        site.browser(admin, origin=origin)
    assert refused.value.response.status_code == 403


def test_only_those_who_may_change_the_droplet_open_its_console(site: Site) -> None:
    viewer = User.objects.create_user("vera")
    Membership.objects.create(user=viewer, owner=site.droplet.owner, role="viewer")
    stranger = User.objects.create_user("sam")

    for user, status in ((viewer, 403), (stranger, 404), (None, 401)):
        with pytest.raises(InvalidStatus) as refused:
            site.browser(user)
        assert refused.value.response.status_code == status


def test_an_address_that_is_no_console_is_refused(site: Site) -> None:
    with pytest.raises(InvalidStatus):
        connect(f"ws://127.0.0.1:{site.port}/console/ws/droplets/hello")


def test_a_lost_relay_ends_the_console_and_says_so(
    site: Site, enrolled: FakeNode, admin: User
) -> None:
    enrolled.settle()
    with open_console(site, enrolled, admin) as (browser, agent):
        redis = Redis.from_url(settings.ENVIRONMENT.redis())
        for client in redis.client_list(_type="pubsub"):
            if client["name"] == CLIENT_NAME:
                redis.client_kill_filter(_id=client["id"])

        assert "relay between the processes was lost" in notice(browser)["message"]
        with pytest.raises(ConnectionClosed):
            agent.recv(timeout=10)
