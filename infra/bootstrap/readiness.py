"""How it is seen that a server answers. No function here waits; the supervisor asks again."""

from __future__ import annotations

import http.client
import socket
from pathlib import Path

PATIENCE = 2.0
"""Seconds for one question. A server that needs longer is asked again."""


def accepts(port: int, address: str = "127.0.0.1") -> bool:
    """Return whether something accepts connections on the port."""
    try:
        with socket.create_connection((address, port), timeout=PATIENCE):
            return True
    except OSError:
        return False


def answers_health(port: int, path: str = "/readyz", address: str = "127.0.0.1") -> bool:
    """Return whether the web process says it is well."""
    connection = http.client.HTTPConnection(address, port, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def redis_answers(path: Path) -> bool:
    """Return whether a Redis server answers PING on its Unix socket."""
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(PATIENCE)
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False


def log_says(log: Path, words: str, *, after: int) -> bool:
    """Return whether the log holds these words beyond the first `after` bytes."""
    try:
        with log.open("rb") as file:
            file.seek(after)
            return words.encode() in file.read()
    except FileNotFoundError:
        return False
