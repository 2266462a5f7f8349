"""Images from an address: counted, taken up where they broke, and never without an end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from agent.drivers.base import DriverError, Refused, Rejected
from agent.images import ImageSource
from agent.protocol.declarations import ImageReference
from tests.agent.declared import IMAGE

CONTENT = bytes(range(256)) * 4096


class Server(BaseHTTPRequestHandler):
    """Serves CONTENT; `/broken` ends each answer after a third, `/moved` sends elsewhere."""

    def do_GET(self) -> None:
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("location", "/good")
            self.end_headers()
            return
        if self.path == "/none":
            self.send_error(404)
            return
        if self.path == "/tired":
            self.send_error(503)
            return
        stated = self.headers.get("range")
        start = int(stated.removeprefix("bytes=").rstrip("-")) if stated else 0
        body = CONTENT[start:]
        self.send_response(206 if stated else 200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(CONTENT) // 3] if self.path == "/broken" else body)

    def log_message(self, *_: object) -> None:
        """Stay silent."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()


def fetched(url: str, *, size: int = len(CONTENT)) -> bytes:
    def nobody() -> None:
        raise AssertionError("an image with an address needs no identity")

    image = IMAGE.model_copy(update={"url": url, "size_bytes": size})
    with ImageSource(nobody)(ImageReference.model_validate(image.model_dump())) as chunks:
        return b"".join(chunks)


@pytest.mark.parametrize("path", ["/good", "/moved"])
def test_an_image_is_fetched_from_its_address(address: str, path: str) -> None:
    assert fetched(address + path) == CONTENT


def test_a_connection_that_breaks_is_taken_up_where_it_broke(address: str) -> None:
    assert fetched(address + "/broken") == CONTENT


@pytest.mark.parametrize(
    ("path", "sort", "code"),
    [
        ("/none", Rejected, "image.unknown"),
        ("/tired", Refused, "image.refused"),
    ],
)
def test_an_address_that_does_not_deliver_says_what_may_be_concluded(
    address: str, path: str, sort: type[DriverError], code: str
) -> None:
    with pytest.raises(sort) as failed:
        fetched(address + path)

    assert failed.value.code == code


def test_more_than_was_declared_is_not_taken(address: str) -> None:
    with pytest.raises(Rejected) as failed:
        fetched(address + "/good", size=1000)

    assert failed.value.code == "image.size"


def test_nobody_at_the_address_may_pass() -> None:
    with pytest.raises(Refused) as failed:
        fetched("http://127.0.0.1:9/image")

    assert failed.value.code == "image.unreached"


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://images/x", "nonsense"])
def test_only_the_web_is_asked(url: str) -> None:
    with pytest.raises(Rejected) as failed:
        fetched(url)

    assert failed.value.code == "image.url"
