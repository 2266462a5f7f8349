"""TLS as the agent edge ends it, and the peer certificate as its application sees it.

uvicorn hands the application nothing of the TLS session. The protocol classes here wrap the
application once per connection, so that each request of it carries the certificate that this very
connection was opened with, under `scope["extensions"]["tls"]`. No header can say otherwise.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
from collections.abc import Awaitable, Callable
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from infra.authority import Authority
from infra.http import Application, Receive, Scope, Send


def peer_certificate(transport: asyncio.BaseTransport) -> bytes | None:
    """Return the peer's verified certificate in DER form, or None when it showed none."""
    session = transport.get_extra_info("ssl_object")
    return session.getpeercert(binary_form=True) if session is not None else None


def with_peer(application: Application, certificate: bytes | None) -> Application:
    """Return the application as one connection sees it."""

    async def connected(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {"tls": {"peer_certificate": certificate}}
        await application(scope, receive, send)

    return connected


def fingerprint_of(scope: Scope) -> str | None:
    """Return the SHA-256 of the connection's peer certificate in hex, or None without one."""
    extensions = scope.get("extensions")
    session = extensions.get("tls") if isinstance(extensions, dict) else None
    certificate = session.get("peer_certificate") if isinstance(session, dict) else None
    return hashlib.sha256(certificate).hexdigest() if isinstance(certificate, bytes) else None


_Asgi = Callable[..., Awaitable[None]]


class PeerHttpProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose requests carry the peer certificate."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        wrapped = with_peer(cast("Application", self.app), peer_certificate(transport))
        self.app = cast("_Asgi", wrapped)


class PeerWebSocketProtocol(WebSocketsSansIOProtocol):
    """WebSocket whose opening carries the peer certificate."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        wrapped = with_peer(cast("Application", self.app), peer_certificate(transport))
        self.app = cast("_Asgi", wrapped)


def exchange_context(authority: Authority) -> ssl.SSLContext:
    """Return the context of the exchange listener: nobody speaks without a certificate of ours."""
    context = enrolment_context(authority)
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(cadata=authority.pem)
    return context


def enrolment_context(authority: Authority) -> ssl.SSLContext:
    """Return the context of the enrolment listener: only the server shows who it is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    load_server_certificate(context, authority)
    return context


def load_server_certificate(context: ssl.SSLContext, authority: Authority) -> None:
    """Show this certificate to whoever connects from now on."""
    context.load_cert_chain(authority.server_files.key)
