"""A private Redis: on a Unix socket, keeping nothing, since nothing in it is the truth."""

from __future__ import annotations

import os
import pwd

from infra.bootstrap.children import ProcessSpec, own_folder
from infra.bootstrap.places import Places
from infra.bootstrap.readiness import redis_answers
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.systempackages import find_program

SYSTEM_USER = "redis"


def redis_url(places: Places) -> str:
    """Return the URL of the private server."""
    return f"unix://{places.redis_socket}?db=0"


def server_user() -> str | None:
    """Return the user Debian's package made for the server; None to run as who runs this."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam(SYSTEM_USER).pw_name
    except KeyError:
        return None


def prepare(places: Places) -> None:
    """Make the server's folder, which holds its socket."""
    own_folder(places.redis, server_user())


def spec(places: Places) -> ProcessSpec:
    """Return how the server runs under the supervisor. Raises CannotContinue without a server."""
    program = find_program("redis-server")
    if program is None:
        raise CannotContinue("redis-server was not found.")
    options = {
        "port": "0",
        "unixsocket": str(places.redis_socket),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(places.redis),
        "pidfile": str(places.redis / "redis.pid"),
        "daemonize": "no",
    }
    words = [word for key, value in options.items() for word in (f"--{key}", value)]
    return ProcessSpec(
        name="redis",
        title="Redis",
        argv=(str(program), *words),
        env=dict(os.environ),
        cwd=places.redis,
        log=places.log / "redis.log",
        is_ready=lambda: redis_answers(places.redis_socket),
        user=server_user(),
        tier=0,
    )
