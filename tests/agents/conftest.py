"""A real agent edge on loopback, and a node that talks to it over real TLS."""

from __future__ import annotations

import asyncio
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.conf import settings
from django.db import connection
from django.utils import timezone

from agent.protocol.messages import EnrolResponse, PollRequest, PollResponse, ReportRequest
from agent.protocol.observations import Inventory
from agent.protocol.values import Incarnation
from infra.agents.consoles import ConsoleRelay
from infra.agents.enrolling import Enrolling
from infra.agents.exchange import Exchange
from infra.agents.server import Edge, edge_url, listen
from infra.agents.waking import NodeWakes
from infra.authority import Authority, ensure_authority
from infra.database_threads import DatabaseThreads
from infra.relay import Relay
from inventory.access import Actor
from inventory.identifiers import uuid7
from inventory.models import Installation, Node, Zone
from operations.dispatch import take_poll
from operations.enrolment import create_enrolment_token
from operations.intents.call import Call
from operations.observations import take_report
from tests.waiting import wait_until

ADMINISTRATOR = Actor(user_id=None, label="ada", administrator=True)


@dataclass
class Clock:
    """The control plane's clock, as far ahead of the real one as a test says."""

    ahead: timedelta = timedelta()

    def __call__(self) -> datetime:
        return timezone.now() + self.ahead


@dataclass
class RunningEdge:
    """An edge of its own thread and event loop."""

    authority: Authority
    wakes: NodeWakes
    exchange_url: str
    enrol_url: str
    clock: Clock


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    made = ensure_authority(tmp_path / "ca", now=timezone.now())
    made.ensure_server_certificate("127.0.0.1", now=timezone.now())
    return made


@pytest.fixture
def installation(transactional_db: None) -> Installation:
    return Installation.objects.create(token="t" * 32, created_at=timezone.now())


@pytest.fixture
def node(installation: Installation) -> Node:
    zone = Zone.objects.create(name="home")
    return Node.objects.create(name="n1", zone=zone)


@pytest.fixture
def edge(authority: Authority, installation: Installation) -> Iterator[RunningEdge]:
    with running_edge(authority) as running:
        yield running


class running_edge:  # noqa: N801  used like a function
    def __init__(self, authority: Authority) -> None:
        self._authority = authority
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        threads, wakes, clock = DatabaseThreads(4), NodeWakes(), Clock()
        self._relay = Relay(settings.ENVIRONMENT.redis())
        sockets = (listen("127.0.0.1", 0), listen("127.0.0.1", 0))
        urls = [edge_url("127.0.0.1", each.getsockname()[1]) for each in sockets]
        exchange = Exchange(
            authority=self._authority,
            threads=threads,
            wakes=wakes,
            consoles=ConsoleRelay(self._relay, threads, wakes),
            take_poll=take_poll,
            take_report=take_report,
            clock=clock,
        )
        enrolling = Enrolling(self._authority, threads, urls[0], clock=clock)
        self._edge = Edge(exchange, enrolling, sockets=sockets, dialled_as="127.0.0.1")
        self.running = RunningEdge(self._authority, wakes, urls[0], urls[1], clock)
        self._ready.set()
        await self._edge.run()
        await self._relay.close()

    def __enter__(self) -> RunningEdge:
        self._thread.start()
        assert self._ready.wait(10)
        wait_until(lambda: self._edge.started, what="the edge to listen")
        return self.running

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._edge.stop)
        self._thread.join(15)
        assert not self._thread.is_alive(), "the edge did not stop"
        connection.close_pool()


@dataclass
class FakeNode:
    """A machine: its key, its certificates, and what it asks the edge."""

    edge: RunningEdge
    folder: Path
    key: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    certificate_pem: str = ""
    incarnation: Incarnation = field(
        default_factory=lambda: Incarnation(id=uuid7(), ordinal=1, boot_id="b", init_started=1)
    )

    def csr(self, key: ec.EllipticCurvePrivateKey | None = None) -> str:
        return signing_request(key or self.key)

    def enrol(self, token: str, **changes: object) -> httpx2.Response:
        body = {"token": token, "csr_pem": self.csr(), **changes}
        with httpx2.Client(verify=self.context(certificate=False)) as client:
            response = client.post(self.edge.enrol_url + "/v1/enrol", json=body)
        if response.status_code == 200:
            self.certificate_pem = EnrolResponse.model_validate_json(
                response.content
            ).certificate_pem
        return response

    def context(self, *, certificate: bool = True) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.edge.authority.pem)
        if certificate:
            path = self.folder / f"{uuid7()}.pem"
            path.write_text(key_pem(self.key) + self.certificate_pem)
            context.load_cert_chain(path)
        return context

    def client(self) -> httpx2.Client:
        return httpx2.Client(verify=self.context(), base_url=self.edge.exchange_url, timeout=30)

    def poll_body(self, number: int, *, wait: float = 0, delivery: int = 0) -> bytes:
        request = PollRequest(
            incarnation=self.incarnation, number=number, delivery=delivery, wait_seconds=wait
        )
        return request.model_dump_json().encode()

    def poll(
        self,
        number: int,
        *,
        wait: float = 0,
        delivery: int = 0,
        headers: dict[str, str] | None = None,
    ) -> httpx2.Response:
        with self.client() as client:
            body = self.poll_body(number, wait=wait, delivery=delivery)
            return client.post("/v1/poll", content=body, headers=headers or {})

    def settle(self) -> None:
        """Answer what every first poll of a new life brings: the wish for a full report."""
        assert PollResponse.model_validate_json(self.poll(1).content).ledger_wanted
        assert self.report(1).status_code == 200

    def report(self, sequence: int) -> httpx2.Response:
        request = ReportRequest(
            incarnation=self.incarnation,
            sequence=sequence,
            delivery=0,
            inventory=Inventory(complete=True),
            ledger=(),
        )
        with self.client() as client:
            return client.post("/v1/report", content=request.model_dump_json().encode())


@pytest.fixture
def machine(edge: RunningEdge, tmp_path: Path) -> FakeNode:
    return FakeNode(edge, tmp_path)


@pytest.fixture
def enrolled(machine: FakeNode, node: Node) -> FakeNode:
    assert machine.enrol(new_token(node)).status_code == 200
    return machine


def new_token(node: Node, **options: timedelta) -> str:
    return create_enrolment_token(node, Call(actor=ADMINISTRATOR, now=timezone.now()), **options)


def signing_request(key: ec.EllipticCurvePrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "whatever")])
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return request.public_bytes(serialization.Encoding.PEM).decode()


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    ).decode()
