"""A control plane on loopback and agents that talk to it over real TLS."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import pytest
from django.utils import timezone

from agent.database import Database
from agent.identity import Identity, IdentityStore
from agent.joining import enrol
from agent.journal import Journal
from agent.running import LEDGER, Agent, Configuration
from inventory.access import LOOP
from inventory.models import Node, NodeJournal, Owner
from inventory.specs import DropletSpec, ImageSpec
from operations.executor import advance
from operations.intents.call import Call
from operations.intents.droplets import create_droplet
from operations.intents.images import create_image
from operations.intents.resources import Metadata
from operations.models import Operation
from operations.sweeps import sweep_drift
from tests.agent.working import run_in_thread
from tests.agents.conftest import RunningEdge, new_token
from tests.waiting import wait_until

CHECKOUT = Path(__file__).parents[2]


@dataclass
class Site:
    """An edge, one node that is enrolled to it, and the folder of its agent."""

    edge: RunningEdge
    node: Node
    state: Path
    verify_images: bool = False
    repair_after: float = 30.0
    libvirt_uri: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def enrol(self) -> Identity:
        self.state.mkdir(exist_ok=True)
        return enrol(
            IdentityStore(self.state),
            url=self.edge.enrol_url,
            ca_pem=self.edge.authority.pem,
            token=new_token(self.node),
            address="10.0.0.1",
            name="machine",
        )

    @contextmanager
    def agent(self) -> Iterator[None]:
        """Run the agent in this process until the block ends."""
        configuration = Configuration(
            state=self.state,
            driver="libvirt" if self.libvirt_uri else "fake",
            driver_folder=self.state,
            libvirt_uri=self.libvirt_uri,
            verify_images=self.verify_images,
            repair_after_seconds=self.repair_after,
            survey_seconds=0.5,
        )
        database = Database(self.state / LEDGER)

        async def work() -> None:
            await Agent(configuration, database).work()

        with run_in_thread(work):
            yield

    def start(self) -> subprocess.Popen[bytes]:
        """Start the agent as a process of its own; it is ended with the test."""
        command = [sys.executable, "-m", "agent.main", "run"]
        if self.libvirt_uri:
            command += ["--driver", "libvirt", "--libvirt-uri", self.libvirt_uri]
        else:
            command += ["--driver", "fake"]
        with (self.state / "agent.log").open("ab") as log:
            process = subprocess.Popen(
                [*command, "--state-dir", str(self.state)], cwd=CHECKOUT, stderr=log
            )
        self.processes.append(process)
        return process

    def end(self) -> None:
        for process in self.processes:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGKILL)
            process.wait()

    @property
    def guests(self) -> Path:
        return self.state / "fake"

    def settle(self, operation: Operation, *, seconds: float = 20) -> Operation:
        """Do the worker's part until the operation has ended; return it."""

        def ended() -> Operation | None:
            advance(operation.pk, now=timezone.now())
            found = Operation.objects.get(pk=operation.pk)
            return found if found.finished_at else None

        return wait_until(ended, seconds=seconds, what=f"{operation.kind} to end")

    def events(self) -> list[str]:
        """Return what of the agent's journal has reached the control plane."""
        return list(
            NodeJournal.objects.filter(node=self.node)
            .order_by("number")
            .values_list("event", flat=True)
        )

    def local_events(self) -> list[str]:
        """Return what the agent has journaled and nobody has recorded."""
        database = Database(self.state / LEDGER)
        try:
            return [line.event for line in Journal(database).read(limit=1000)]
        finally:
            database.close()


def call() -> Call:
    return Call(actor=LOOP, now=timezone.now())


def make_image(**changes: object) -> None:
    values = {"sha256": "a" * 64, "format": "raw", "size_bytes": 10, "url": "https://images/x"}
    operation = create_image(
        call(), Metadata(name="tiny"), ImageSpec.model_validate(values | changes)
    )
    advance(operation.pk, now=timezone.now())


def create(name: str = "hello", **spec: object) -> Operation:
    values = {"image": "tiny", "memory_mib": 64} | spec
    return create_droplet(call(), Metadata(name=name), DropletSpec.model_validate(values))


def repair(resource_id: UUID) -> Operation | None:
    """Return the repair that the drift loop has opened for the resource, if it has."""
    sweep_drift(now=timezone.now())
    return Operation.objects.filter(resource_id=resource_id, cause="drift").first()


class Cable:
    """A wire to the edge that can be cut, in the middle of anything."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._whole = True
        self._ends: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self._listening.getsockname()[1])

    def cut(self) -> None:
        """Break all connections and let no new one through."""
        with self._lock:
            self._whole = False
            for end in self._ends:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        with self._lock:
            self._whole = True

    def close(self) -> None:
        self.cut()
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            with self._lock:
                if not self._whole:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self._target))
                self._ends |= {near, far}
            for source, target in ((near, far), (far, near)):
                threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
        for end in (source, target):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            with self._lock:
                self._ends.discard(end)


@contextmanager
def cabled(site: Site) -> Iterator[Cable]:
    """Lead the node's way to the edge over a cable."""
    store = IdentityStore(site.state)
    about = store.load().folder / "about.json"
    port = int(site.edge.exchange_url.rpartition(":")[2])
    cable = Cable(port)
    about.write_text(about.read_text().replace(f":{port}", f":{cable.port}"))
    try:
        yield cable
    finally:
        cable.close()


Condition = Callable[[], object]


@pytest.fixture
def site(edge: RunningEdge, node: Node, tmp_path: Path) -> Iterator[Site]:
    Owner.objects.get_or_create(name="default", is_default=True)
    made = Site(edge, node, tmp_path / "node")
    os.environ.pop("NOTIFY_SOCKET", None)
    yield made
    made.end()
