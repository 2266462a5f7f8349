"""The bytes of images, from the installation's store or from where their address says.

What comes is counted, so that nothing endless fills the disk; whether it is the right image, the
driver checks. A connection that breaks is taken up where it broke.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx2

from agent.drivers.base import DriverError, OutcomeUnknown, Refused, Rejected
from agent.identity import Identity
from agent.protocol.declarations import ImageReference
from agent.protocol.messages import IMAGE_PATH
from agent.wire import CONNECT_SECONDS, turned_away

CHUNK_BYTES = 256 * 1024
SILENT_SECONDS = 30.0
RESUMPTIONS = 5
REDIRECTS = 5
_OK, _PARTIAL, _NOT_FOUND = 200, 206, 404


class ImageSource:
    """Opens images as the identity in use; itself an `ImageStream` of the drivers."""

    def __init__(self, identity: Callable[[], Identity]) -> None:
        self._identity = identity

    @contextmanager
    def __call__(self, image: ImageReference) -> Iterator[Iterator[bytes]]:
        """Yield the image's bytes.

        While iterating raises Rejected (`image.unknown`, `image.size`, `image.url`), Refused
        (an address that does not deliver) or OutcomeUnknown (the store is not reached).
        """
        client, url = self._open(image)
        with client:
            yield _bytes(client, url, image)

    def _open(self, image: ImageReference) -> tuple[httpx2.Client, str]:
        timeout = httpx2.Timeout(SILENT_SECONDS, connect=CONNECT_SECONDS)
        if image.url is None:
            identity = self._identity()
            client = httpx2.Client(
                base_url=identity.about.edge_url,
                verify=identity.context(),
                timeout=timeout,
                trust_env=False,
            )
            return client, IMAGE_PATH.format(sha256=image.sha256)
        if not image.url.lower().startswith(("http://", "https://")):
            raise Rejected("image.url", "Images are fetched over http and https only.")
        client = httpx2.Client(timeout=timeout, follow_redirects=True, max_redirects=REDIRECTS)
        return client, image.url


def _bytes(client: httpx2.Client, url: str, image: ImageReference) -> Iterator[bytes]:
    got = 0
    for attempt in range(RESUMPTIONS + 1):
        try:
            for chunk in _rest(client, url, image, start=got):
                got += len(chunk)
                if got > image.size_bytes:
                    text = f"More than the declared {image.size_bytes} bytes came."
                    raise Rejected("image.size", text)
                yield chunk
        except (httpx2.HTTPError, httpx2.InvalidURL, ssl.SSLError, OSError) as error:
            # Without a byte more than last time, trying again is not ours to decide.
            if attempt == RESUMPTIONS or got == 0:
                raise _broken(image, error) from error
        else:
            return


def _rest(client: httpx2.Client, url: str, image: ImageReference, *, start: int) -> Iterator[bytes]:
    headers = {"range": f"bytes={start}-"} if start else {}
    headers["accept-encoding"] = "identity"
    with client.stream("GET", url, headers=headers) as response:
        if response.status_code != (_PARTIAL if start else _OK):
            raise _refusal(image, response)
        yield from response.iter_bytes(CHUNK_BYTES)


def _refusal(image: ImageReference, response: httpx2.Response) -> DriverError:
    if response.status_code == _NOT_FOUND:
        return Rejected("image.unknown", "There is no such image where it should come from.")
    told = turned_away(response.status_code, response.read())
    text = f"The image was not handed out: {told}"
    return _passing(image)("image.refused", text)


def _broken(image: ImageReference, error: Exception) -> DriverError:
    text = f"The image could not be fetched: {type(error).__name__}: {error}"
    return _passing(image)("image.unreached", text)


def _passing(image: ImageReference) -> type[DriverError]:
    """Return the sort of failure: the installation's store comes back, an address may not."""
    return OutcomeUnknown if image.url is None else Refused
