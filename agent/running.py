"""The agent as a whole: its parts put together, from start to stop."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import structlog

from agent import clock
from agent.consoles import Consoles
from agent.credentials import Credentials
from agent.database import Database
from agent.drivers import open_driver
from agent.drivers.base import Hypervisor
from agent.facts import VERSION, gather_facts
from agent.identity import Identity, IdentityStore
from agent.images import ImageSource
from agent.incarnation import ensure_life, read_machine, run_folder
from agent.intents import Intents
from agent.journal import Journal
from agent.ledger import Ledger
from agent.link import Ear, Ends, Link
from agent.loop import Loop
from agent.numbers import Growing
from agent.planning.repair import REPAIR_AFTER_SECONDS
from agent.protocol.values import Incarnation
from agent.reporting import Reporter
from agent.turns import Surroundings, Turns

LEDGER = "ledger.sqlite"
FACTS_SECONDS = 60.0
STOP_SECONDS = 3.0
"""How long a driver call that is under way is waited for at the end. Its intent is written, so
the next agent looks at what came of it."""

_log = structlog.get_logger(__name__)


class AlreadyRunning(Exception):
    """Another agent works with this state folder."""


@dataclass(frozen=True)
class Configuration:
    """What `run` is told. `driver_folder` is where the driver keeps its files."""

    state: Path
    driver: str
    driver_folder: Path
    libvirt_uri: str
    verify_images: bool = False
    repair_after_seconds: float = REPAIR_AFTER_SECONDS
    survey_seconds: float = 5.0


@contextmanager
def sole_agent(state: Path) -> Iterator[None]:
    """Be the only agent of this state folder while the block runs. Raises AlreadyRunning."""
    with (state / "agent.lock").open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise AlreadyRunning(f"Another agent works with {state}.") from error
        yield


def open_hypervisor(configuration: Configuration, identity: Identity) -> Hypervisor:
    """Return the driver that was asked for. Raises ValueError, ImportError."""
    return open_driver(
        configuration.driver,
        state_dir=configuration.driver_folder,
        installation_id=identity.about.installation.id,
        node_id=identity.about.node_id,
        uri=configuration.libvirt_uri,
        verify_images=configuration.verify_images,
    )


def begin_life(database: Database, state: Path) -> Incarnation:
    """Return which life of the node this is."""
    fresh = uuid.uuid4()  # noqa: TID251  the edge where this identifier is chosen
    return ensure_life(database, run_folder(state), read_machine(), fresh_id=fresh, at=clock.now())


class Agent:
    """All parts of one running agent."""

    def __init__(self, configuration: Configuration, database: Database) -> None:
        """Put the parts together. Raises NotEnrolled, Rival, ValueError, ImportError."""
        credentials = Credentials(IdentityStore(configuration.state))
        identity = credentials.identity
        hypervisor = open_hypervisor(configuration, identity)
        ledger, self._journal = Ledger(database), Journal(database)
        ledger.meet(identity.about.installation)
        incarnation = begin_life(database, configuration.state)
        self._ear = Ear()
        around = Surroundings(
            ledger=ledger,
            intents=Intents(database, ordinal=incarnation.ordinal),
            journal=self._journal,
            hypervisor=hypervisor,
            stream=ImageSource(lambda: credentials.identity),
            link_silent=self._ear.silent,
            told=self._tell,
            repair_after_seconds=configuration.repair_after_seconds,
        )
        turns = Turns(around)
        self._loop = Loop(around, turns, survey_seconds=configuration.survey_seconds)
        self._consoles = Consoles(hypervisor, lambda: credentials.identity)
        reporter = Reporter(
            incarnation=incarnation,
            ledger=ledger,
            journal=self._journal,
            hypervisor=hypervisor,
            turns=turns,
            sequence=Growing(database, "sequence"),
        )
        self._reporter = reporter
        self._gather = partial(gather_facts, hypervisor, address=identity.about.address)
        self._link = Link(
            Ends(
                credentials=credentials,
                incarnation=incarnation,
                ledger=ledger,
                journal=self._journal,
                polls=Growing(database, "poll"),
                reporter=reporter,
                ear=self._ear,
                ordered=self._loop.wake,
                wanted=self._consoles.open,
            )
        )
        self._incarnation = incarnation

    def _tell(self) -> None:
        self._link.tell()

    async def run(self) -> None:
        """Work until SIGTERM or SIGINT. Guests go on as they are."""
        runner, stop = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            runner.add_signal_handler(number, stop.set)
        working = asyncio.create_task(self.work())
        stopping = asyncio.create_task(stop.wait())
        notify("READY=1")
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        notify("STOPPING=1")
        stopping.cancel()
        if working.done():
            await working  # it ended by itself: by what it raised
            return
        working.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await working
        await self._loop.settle(STOP_SECONDS)

    async def work(self) -> None:
        """Work until cancelled, without listening to signals."""
        text = f"Agent {VERSION} started in life {self._incarnation.ordinal} of the node."
        self._journal.write("agent.started", text, at=clock.now())
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._loop.run())
                group.create_task(self._link.run())
                group.create_task(self._keep_telling_facts())
        finally:
            await self._consoles.close()

    async def _keep_telling_facts(self) -> None:
        """Gather beside everything else: the first time really starts guests to find out how."""
        while True:
            self._reporter.offer(await asyncio.to_thread(self._gather))
            self._link.tell()
            await asyncio.sleep(FACTS_SECONDS)


def notify(state: str) -> None:
    """Tell the init system, if it wants to know (sd_notify)."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    path = "\0" + address[1:] if address.startswith("@") else address
    with (
        contextlib.suppress(OSError),
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifying,
    ):
        notifying.sendto(state.encode(), path)
