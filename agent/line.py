"""One kept connection to the control plane, opened anew when the identity changes."""

from __future__ import annotations

import httpx2

from agent.identity import Identity
from agent.protocol.values import WireValue
from agent.wire import ANSWER_SECONDS, Answer, Unheard, ask, open_line


class Line:
    """Asks as the identity it is given; used by one task at a time."""

    def __init__(self) -> None:
        self._client: httpx2.AsyncClient | None = None
        self._fingerprint = ""

    async def ask(
        self,
        identity: Identity,
        path: str,
        request: WireValue,
        answer: type[Answer],
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> Answer:
        """Return the answer. Raises Unheard (the connection is then closed), TurnedAway."""
        client = await self._open(identity)
        try:
            return await ask(client, path, request, answer, seconds=seconds)
        except Unheard:
            await self.close()
            raise

    async def _open(self, identity: Identity) -> httpx2.AsyncClient:
        if self._client is not None and self._fingerprint == identity.fingerprint:
            return self._client
        await self.close()
        self._client = open_line(identity.about.edge_url, identity.context())
        self._fingerprint = identity.fingerprint
        return self._client

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
