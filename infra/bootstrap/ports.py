"""The three TCP ports of an installation."""

from __future__ import annotations

import socket
from dataclasses import dataclass

from infra.bootstrap.refusals import CannotContinue

DEFAULT_PORT = 8000
LAST_BASE = 65533


@dataclass(frozen=True)
class Ports:
    """Web, the agents' edge and enrolment: three numbers in a row."""

    web: int

    @property
    def edge(self) -> int:
        return self.web + 1

    @property
    def enrol(self) -> int:
        return self.web + 2

    def named(self) -> tuple[tuple[str, int], ...]:
        return (("console and API", self.web), ("agents", self.edge), ("enrolment", self.enrol))


def is_free(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether a server could listen there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
            # Two sockets may share a bound address until one of them listens.
            probe.listen(1)
        except OSError:
            return False
    return True


def check_ports(ports: Ports) -> None:
    """Raise CannotContinue that names every port something else listens on."""
    taken = [f"{port} ({use})" for use, port in ports.named() if not is_free(port)]
    if taken:
        raise CannotContinue(
            f"In use by another program: port {', port '.join(taken)}.\n"
            f"Choose three free ports in a row with --port N (it takes N, N+1 and N+2)."
        )
