"""Keeps the node's identity usable: renews it in time, recovers it when it ran out.

Renewing touches no guest. The next identity is written before it is used, and the present one
keeps working until then.
"""

from __future__ import annotations

import asyncio

import structlog

from agent import clock
from agent.identity import Identity, IdentityStore, NotEnrolled, signing_request
from agent.joining import recover
from agent.line import Line
from agent.protocol.messages import RENEW_PATH, RenewRequest, RenewResponse

LOOK_SECONDS = 60.0
_log = structlog.get_logger(__name__)


class Credentials:
    """Holds the identity in use. `changed` is set, for a moment, when it became another."""

    def __init__(self, store: IdentityStore) -> None:
        """Load the identity. Raises NotEnrolled."""
        self._store = store
        self._identity = store.load()
        self._lock = asyncio.Lock()
        self.changed = asyncio.Event()

    @property
    def identity(self) -> Identity:
        return self._identity

    async def reload(self) -> bool:
        """Take what lies on disk; return whether it is another identity."""
        try:
            found = await asyncio.to_thread(self._store.load)
        except (NotEnrolled, ValueError):
            # Somebody is at work there; what was loaded before serves on.
            return False
        return self._use(found)

    def _use(self, found: Identity) -> bool:
        if found.fingerprint == self._identity.fingerprint:
            return False
        self._identity = found
        self.changed.set()
        self.changed = asyncio.Event()
        _log.info("identity_changed", fingerprint=found.fingerprint[:16])
        return True

    def renewal_due(self) -> bool:
        return clock.now() >= self._identity.renew_at

    def has_run_out(self) -> bool:
        """Return whether the certificate ran out by this node's own clock."""
        return clock.now() >= self._identity.not_after

    async def renew(self, line: Line) -> None:
        """Get the next identity with the present one. Raises Unheard, TurnedAway, BadIdentity."""
        async with self._lock:
            present = self._identity
            key = await asyncio.to_thread(self._store.pending_key)
            request = RenewRequest(csr_pem=signing_request(key, present.about.node_name))
            response = await line.ask(present, RENEW_PATH, request, RenewResponse)
            found = await asyncio.to_thread(self._save, present, response)
            self._use(found)

    def _save(self, present: Identity, response: RenewResponse) -> Identity:
        return self._store.save(
            present.about, certificate_pem=response.certificate_pem, ca_pem=response.ca_pem
        )

    async def recover(self) -> None:
        """Get the next identity with one that ran out. Raises Unheard, TurnedAway, BadIdentity."""
        async with self._lock:
            expired = self._identity
            if await self.reload():
                return
            self._use(await asyncio.to_thread(recover, self._store, expired))
