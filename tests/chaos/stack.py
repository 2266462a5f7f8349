"""The product as real processes on the test database, to be killed and started again.

Everything a supervisor would run: web, workers, beat, agent edge, Redis, and node agents over the
fake driver. Only loopback and sockets in a temporary folder are used; `close` leaves nothing.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote, urlencode

from django.db import connection

from infra.authority import ensure_authority
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent


def free_ports(count: int) -> int:
    """Return the first of `count` neighbouring free ports on loopback."""
    for base in range(20000 + os.getpid() % 5000 * 4, 60000, 7):
        if all(_is_free(base + offset) for offset in range(count)):
            return base
    raise AssertionError("no free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(address: str | tuple[str, int]) -> bool:
    """Return whether something listens at a Unix socket path or at (host, port)."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family) as probe:
        probe.settimeout(1)
        return probe.connect_ex(address) == 0


def test_database_url() -> str:
    """Return the URL of the database the tests run in, for other processes."""
    settings = connection.settings_dict
    query = urlencode({"host": settings["HOST"], "port": settings["PORT"] or "5432"})
    return f"postgresql://{quote(settings['USER'])}@/{settings['NAME']}?{query}"


test_database_url.__test__ = False


@dataclass
class Stack:
    """Processes by name; `kill` is SIGKILL to the whole process group, `start` begins anew."""

    folder: Path
    port: int = field(default_factory=lambda: free_ports(3))
    commands: dict[str, list[str]] = field(default_factory=dict)
    running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("run", "log", "images", "secrets"):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        redis_socket = str(self.folder / "run" / "redis.sock")
        python, celery = str(BIN / "python"), str(BIN / "celery")
        worker = [celery, "-A", "infra.celery", "worker", "-c", "1", "--loglevel=warning"]
        self.commands = {
            "redis": ["redis-server", "--port", "0", "--unixsocket", redis_socket, "--save", ""],
            "edge": [python, "-m", "infra.agents"],
            "worker1": [*worker, "-n", "worker1@%h"],
            "worker2": [*worker, "-n", "worker2@%h"],
            "beat": [
                celery,
                "-A",
                "infra.celery",
                "beat",
                "--loglevel=warning",
                f"--schedule={self.folder}/run/beat",
            ],
            "web": [
                python,
                "-m",
                "uvicorn",
                "infra.asgi:application",
                "--log-level",
                "warning",
                "--host",
                "127.0.0.1",
                "--port",
                str(self.port),
            ],
        }

    @property
    def environment(self) -> Mapping[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("INFRA_")}
        return kept | {
            "DJANGO_SETTINGS_MODULE": "infra.settings",
            "PYTHONPATH": str(ROOT),
            "INFRA_DATABASE_URL": test_database_url(),
            "INFRA_REDIS_URL": f"unix://{self.folder}/run/redis.sock?db=0",
            "INFRA_DATA_DIR": str(self.folder),
            "INFRA_SECRET_KEY": "chaos",
            "INFRA_PORT": str(self.port),
            "INFRA_EDGE_PORT": str(self.port + 1),
            "INFRA_ENROL_PORT": str(self.port + 2),
        }

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self, *, now: object) -> None:
        """Make the authority and start everything but the agents."""
        ensure_authority(self.folder / "ca", now=now)
        for name in ("redis", "edge", "worker1", "worker2", "beat", "web"):
            self.start(name)
        self.wait_ready()

    def wait_ready(self) -> None:
        wait_until(
            lambda: answers(str(self.folder / "run" / "redis.sock")), seconds=20, what="redis"
        )
        for offset, what in ((0, "web"), (1, "edge"), (2, "enrolment")):
            address = ("127.0.0.1", self.port + offset)
            wait_until(lambda address=address: answers(address), seconds=60, what=what)

    def add_agent(self, name: str, token: str) -> Path:
        """Enrol a node with the fake driver and start its agent; return the driver's folder."""
        state, driver = self.folder / name, self.folder / f"{name}-guests"
        agent = [str(BIN / "python"), "-m", "agent.main"]
        subprocess.run(
            [
                *agent,
                "enrol",
                "--state-dir",
                str(state),
                "--token",
                token,
                "--url",
                f"https://127.0.0.1:{self.port + 2}",
                "--ca",
                f"{self.folder}/ca/ca.pem",
            ],
            env=dict(self.environment),
            cwd=ROOT,
            check=True,
            timeout=60,
        )
        self.commands[name] = [*agent, "run", "--state-dir", str(state), "--driver", "fake"]
        self.commands[name] += ["--driver-dir", str(driver)]
        self.start(name)
        return driver

    def start(self, name: str) -> None:
        log = (self.folder / "log" / f"{name}.log").open("ab")
        self.running[name] = subprocess.Popen(
            self.commands[name],
            env=dict(self.environment),
            cwd=ROOT,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        log.close()

    def kill(self, name: str) -> None:
        process = self.running.pop(name)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def restart(self, name: str) -> None:
        self.kill(name)
        self.start(name)

    def is_back(self, name: str) -> bool:
        """Return whether a process has got as far as to serve; others only have to run."""
        ports = {"web": self.port, "edge": self.port + 1}
        if name in ports:
            return answers(("127.0.0.1", ports[name]))
        return self.running[name].poll() is None

    def close(self) -> None:
        for name in list(self.running):
            self.kill(name)

    def log(self, name: str) -> str:
        return (self.folder / "log" / f"{name}.log").read_text(errors="replace")

    def wait(self, condition: Callable[[], object], *, seconds: float, what: str) -> None:
        wait_until(condition, seconds=seconds, what=what)
