"""A TCP proxy that loses answers: the server has acted, and the client hears nothing."""

from __future__ import annotations

import contextlib
import socket
import threading
from typing import Self
from urllib.parse import urlsplit


class LossyProxy:
    """Passes everything on but the answers to the next `lose` requests that begin with `method`."""

    def __init__(self, url: str, *, lose: int, method: bytes = b"POST") -> None:
        parts = urlsplit(url)
        self._upstream = (parts.hostname, parts.port)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._method = method
        self._lock = threading.Lock()
        self.lose = lose
        self.lost = 0
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        doomed = threading.Event()
        with client, socket.create_connection(self._upstream) as server:
            back = threading.Thread(target=self._answer, args=(server, client, doomed), daemon=True)
            back.start()
            with contextlib.suppress(OSError):
                while data := client.recv(65536):
                    if data.startswith(self._method) and self._takes_one():
                        doomed.set()
                    server.sendall(data)
            with contextlib.suppress(OSError):
                server.shutdown(socket.SHUT_RDWR)
            back.join(5)

    def _answer(
        self, server: socket.socket, client: socket.socket, doomed: threading.Event
    ) -> None:
        with contextlib.suppress(OSError):
            while data := server.recv(65536):
                if doomed.is_set():
                    self.lost += 1
                    break
                client.sendall(data)
        with contextlib.suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    def _takes_one(self) -> bool:
        with self._lock:
            if not self.lose:
                return False
            self.lose -= 1
            return True
