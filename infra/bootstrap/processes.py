"""The processes of the product: which, with which words, and how each is seen to be ready."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from infra.bootstrap.children import ProcessSpec
from infra.bootstrap.installation import Installation, child_environment
from infra.bootstrap.places import CHECKOUT, VENV
from infra.bootstrap.readiness import accepts, answers_health, log_says

WORKERS = 2
WORKER_PROCESSES = 2

AGENT_TIER = 3
EDGE_TIER = 2
"""The agent goes first, so that it tells the edge what it did last; then all but the servers."""


def program(name: str) -> str:
    """Return the path of a program in the virtual environment."""
    return str(VENV / "bin" / name)


def control_plane(installation: Installation) -> tuple[ProcessSpec, ...]:
    """Return the processes that need the database and the queue, in the order they start."""
    workers = tuple(_worker(installation, number) for number in range(1, WORKERS + 1))
    return (_web(installation), _edge(installation), *workers, _beat(installation))


def _spec(installation: Installation, name: str, title: str, *argv: str) -> ProcessSpec:
    return ProcessSpec(
        name=name,
        title=title,
        argv=argv,
        env=child_environment(installation),
        cwd=CHECKOUT,
        log=installation.places.log / f"{name}.log",
        tier=EDGE_TIER,
    )


def _web(installation: Installation) -> ProcessSpec:
    port = installation.ports.web
    words = ("--host", "127.0.0.1", "--port", str(port), "--no-access-log", "--no-server-header")
    # Event streams never end by themselves.
    ending = ("--timeout-graceful-shutdown", "3")
    argv = (program("python"), "-m", "uvicorn", "infra.asgi:application", *words, *ending)
    spec = _spec(installation, "web", "Web", *argv)
    return replace(spec, is_ready=partial(answers_health, port))


def _edge(installation: Installation) -> ProcessSpec:
    ports = installation.ports
    spec = _spec(installation, "edge", "Agent edge", program("python"), "-m", "infra.agents")
    return replace(spec, is_ready=lambda: accepts(ports.edge) and accepts(ports.enrol))


def _worker(installation: Installation, number: int) -> ProcessSpec:
    words = ("--concurrency", str(WORKER_PROCESSES), "--hostname", f"worker{number}@%h")
    quiet = ("--loglevel", "INFO", "--without-gossip", "--without-mingle")
    argv = (program("celery"), "-A", "infra.celery", "worker", *words, *quiet)
    spec = _spec(installation, f"worker-{number}", f"Worker {number}", *argv)
    return _says(spec, " ready.")


def _beat(installation: Installation) -> ProcessSpec:
    schedule = f"--schedule={installation.places.run / 'beat'}"
    words = (schedule, "--pidfile=", "--loglevel", "INFO")
    argv = (program("celery"), "-A", "infra.celery", "beat", *words)
    return _says(_spec(installation, "beat", "Beat", *argv), "Starting...")


def _says(spec: ProcessSpec, words: str) -> ProcessSpec:
    """Return the spec that is ready once its log says so, beyond what earlier runs have said."""
    before = spec.log.stat().st_size if spec.log.exists() else 0
    return replace(spec, is_ready=partial(log_says, spec.log, words, after=before))


def agent(installation: Installation, *, libvirt_uri: str) -> ProcessSpec:
    """Return this machine's node agent."""
    words = ("run", "--state-dir", str(installation.places.node), "--driver", "libvirt")
    argv = (program("infra-agent"), *words, "--libvirt-uri", libvirt_uri)
    return replace(_spec(installation, "agent", "Node agent", *argv), tier=AGENT_TIER)


def enrol_command(installation: Installation, token: str) -> tuple[str, ...]:
    """Return the command that makes this machine a node, once."""
    places = installation.places
    return (
        *(program("infra-agent"), "enrol", "--state-dir", str(places.node)),
        *("--url", f"https://127.0.0.1:{installation.ports.enrol}"),
        *("--ca", str(places.authority / "ca.pem"), "--token", token),
    )


def redirect_command(installation: Installation) -> tuple[str, ...]:
    """Return the command that tells the enrolled node where the control plane stands now."""
    ports = installation.ports
    return (
        *(program("infra-agent"), "redirect", "--state-dir", str(installation.places.node)),
        *("--edge-url", f"https://127.0.0.1:{ports.edge}"),
        *("--url", f"https://127.0.0.1:{ports.enrol}"),
    )
