"""The command `infra-agent`: makes a machine a node and keeps it as it was declared."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import sys
from pathlib import Path
from typing import Annotated, NoReturn

import structlog
import typer

from agent.database import Database, NewerLedger
from agent.facts import VERSION
from agent.identity import BadIdentity, IdentityStore, NotEnrolled
from agent.joining import enrol as join
from agent.ledger import Ledger, Rival
from agent.planning.repair import REPAIR_AFTER_SECONDS
from agent.running import LEDGER, Agent, AlreadyRunning, Configuration, sole_agent
from agent.status import describe
from agent.wire import TurnedAway, Unheard

app = typer.Typer(
    help="The node agent of Infra.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
StateDir = Annotated[Path, typer.Option(help="Where the node keeps its identity and ledger.")]

FAILED, UNCERTAIN = 1, 5
_log = structlog.get_logger(__name__)


@app.command()
def enrol(
    *,
    state_dir: StateDir,
    url: Annotated[str, typer.Option(help="The enrolment listener, https://ADDRESS:PORT.")],
    ca: Annotated[Path, typer.Option(help="The installation's authority (PEM).", exists=True)],
    token: Annotated[str, typer.Option(envvar="INFRA_ENROLMENT_TOKEN", help="One-time token.")],
    address: Annotated[str, typer.Option(help="How other nodes reach this one.")] = "",
) -> None:
    """Make this machine a node. Safe to repeat while the token lives."""
    state_dir.mkdir(parents=True, exist_ok=True)
    try:
        identity = join(
            IdentityStore(state_dir),
            url=url,
            ca_pem=ca.read_text(),
            token=token,
            address=address or _own_address(url),
            name=socket.gethostname(),
        )
        _check_ledger(state_dir)
    except Unheard as error:
        _fail(f"{url} did not answer ({error}). Run the same command again.", UNCERTAIN)
    except (TurnedAway, BadIdentity, Rival, ssl.SSLError, OSError) as error:
        _fail(str(error))
    typer.echo(f"Enrolled as node {identity.about.node_name} ({identity.about.node_id}).")


@app.command()
def redirect(
    *,
    state_dir: StateDir,
    edge_url: Annotated[str, typer.Option(help="Where poll and report stand, https://…")],
    url: Annotated[str, typer.Option(help="Where the enrolment listener stands, https://…")],
) -> None:
    """Tell an enrolled node that its control plane has moved; takes effect at the next run."""
    try:
        IdentityStore(state_dir).redirect(edge_url=edge_url, enrol_url=url)
    except NotEnrolled as error:
        _fail(str(error))


def _check_ledger(state: Path) -> None:
    """Raise Rival if the state folder belongs to another installation."""
    database = Database(state / LEDGER)
    try:
        Ledger(database).meet(IdentityStore(state).load().about.installation)
    finally:
        database.close()


def _own_address(url: str) -> str:
    """Return the address this machine has towards the control plane; nothing is sent."""
    host = url.partition("://")[2].partition("/")[0]
    name, _, port = host.rpartition(":")
    try:
        found = socket.getaddrinfo(name.strip("[]"), int(port), type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], socket.SOCK_DGRAM) as towards:
            towards.connect(found[4])
            return str(towards.getsockname()[0])
    except (OSError, ValueError):
        return socket.gethostname()


@app.command("run")
def keep_running(
    *,
    state_dir: StateDir,
    driver: Annotated[str, typer.Option(help="libvirt or fake.")] = "libvirt",
    driver_dir: Annotated[
        Path | None, typer.Option(help="Where the driver keeps its files; default: the state.")
    ] = None,
    libvirt_uri: Annotated[str, typer.Option(help="Which libvirt.")] = "qemu:///system",
    verify_images: Annotated[
        bool, typer.Option(help="Let the fake driver read images as libvirt does.")
    ] = False,
    repair_after: Annotated[
        float, typer.Option(help="Seconds without the control plane before the node repairs alone.")
    ] = REPAIR_AFTER_SECONDS,
) -> None:
    """Keep this node as it was declared, until SIGTERM. Guests go on when it ends."""
    _log_to_stderr()
    configuration = Configuration(
        state=state_dir,
        driver=driver,
        driver_folder=driver_dir or state_dir,
        libvirt_uri=libvirt_uri,
        verify_images=verify_images,
        repair_after_seconds=repair_after,
    )
    try:
        with sole_agent(state_dir):
            _work(configuration)
    except (NotEnrolled, AlreadyRunning, NewerLedger, Rival, ValueError, ImportError) as error:
        _fail(str(error))
    except FileNotFoundError:
        _fail(f"{state_dir} does not exist; enrol this machine first.")


def _work(configuration: Configuration) -> None:
    database = Database(configuration.state / LEDGER)

    async def work() -> None:
        agent, code = Agent(configuration, database), 0
        try:
            await agent.run()
            _log.info("agent_stopped")
        except Exception:  # noqa: BLE001  whatever it was, the log has it and the supervisor acts
            _log.exception("agent_failed")
            code = FAILED
        sys.stderr.flush()
        # A driver call that hangs must not keep the agent; the ledger is whole at every moment.
        os._exit(code)

    asyncio.run(work())


@app.command()
def status(*, state_dir: StateDir) -> None:
    """Tell what the ledger says, without asking anybody."""
    if not (state_dir / LEDGER).exists():
        _fail(f"{state_dir} holds no ledger; enrol this machine first.")
    for line in describe(state_dir):
        typer.echo(line)


@app.command()
def version() -> None:
    """Tell which agent this is."""
    typer.echo(f"infra-agent {VERSION}")


def _log_to_stderr() -> None:
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(sort_keys=False),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )


def _fail(text: str, code: int = FAILED) -> NoReturn:
    typer.echo(text, err=True)
    raise typer.Exit(code)


def run() -> None:
    """Be the command."""
    app()


if __name__ == "__main__":
    run()
