"""The enrolment listener's application: the first certificate, and the way back after the last.

Here only the server shows who it is. What is believed of the other side is a one-time token, or
an expired certificate of ours together with a signature by its key.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from django.utils import timezone

from agent.protocol.messages import (
    CHALLENGE_PATH,
    ENROL_PATH,
    RECOVER_PATH,
    ChallengeResponse,
    EnrolRequest,
    EnrolResponse,
    RecoverRequest,
    RenewResponse,
)
from infra.agents.answers import Refused, answer, answered, parse, problem
from infra.agents.limits import RefusalLimit
from infra.authority import Authority
from infra.database_threads import DatabaseThreads
from infra.http import Receive, Reply, Scope, Send, peer_address, read_body, text_of
from infra.keys import check_public_key, signature_holds
from operations import enrolment
from operations.dispatch import installation_identity
from operations.enrolment import Enrolled, IdentityRefused

BODY_LIMIT = 64 * 1024


@dataclass
class Enrolling:
    """The application of the enrolment listener. `edge_url` is where poll and report stand."""

    authority: Authority
    threads: DatabaseThreads
    edge_url: str
    limit: RefusalLimit = field(default_factory=RefusalLimit)
    clock: Callable[[], datetime] = field(default=timezone.now)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        address, now = peer_address(scope), asyncio.get_running_loop().time()
        wait = self.limit.wait_seconds(address, now=now)
        if wait > 0:
            detail = f"Too many refused attempts from {address}; wait {wait:.0f} s."
            headers = {"retry-after": str(int(wait) + 1)}
            await problem(429, "rate.limited", detail, headers).send(send)
            return
        reply = await answered(scope, partial(self._reply, scope, receive))
        if reply is None:
            return
        if 400 <= reply.status < 500:  # noqa: PLR2004  refusals; our own failures do not count
            self.limit.count(address, now=now)
        await reply.send(send)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        handlers: Mapping[str, Callable[[bytes], Awaitable[Reply]]] = {
            ENROL_PATH: self._enrol,
            CHALLENGE_PATH: self._challenge,
            RECOVER_PATH: self._recover,
        }
        handler = handlers.get(text_of(scope, "path"))
        if handler is None:
            raise Refused(404, "path.unknown", "There is nothing at this path of the agent edge.")
        if scope["method"] != "POST":
            raise Refused(405, "method.wrong", "This path takes POST.", {"allow": "POST"})
        return await handler(await read_body(scope, receive, limit=BODY_LIMIT))

    async def _enrol(self, body: bytes) -> Reply:
        request = parse(EnrolRequest, body)

        def enrol() -> EnrolResponse:
            enrolled = enrolment.enrol(
                request.token, request.csr_pem, signer=self.authority, now=self.clock()
            )
            return EnrolResponse(
                node_id=enrolled.node_id,
                node_name=enrolled.node_name,
                certificate_pem=enrolled.certificate_pem,
                ca_pem=self.authority.pem,
                installation=installation_identity(),
                edge_url=self.edge_url,
            )

        return answer(await self.threads.run(enrol))

    async def _challenge(self, _body: bytes) -> Reply:
        return answer(ChallengeResponse(nonce=enrolment.make_challenge(now=self.clock())))

    async def _recover(self, body: bytes) -> Reply:
        request = parse(RecoverRequest, body)
        fingerprint = self._prove_possession(request)

        def recover() -> Enrolled:
            return enrolment.recover(
                fingerprint,
                request.nonce,
                request.csr_pem,
                signer=self.authority,
                now=self.clock(),
            )

        recovered = await self.threads.run(recover)
        return answer(
            RenewResponse(certificate_pem=recovered.certificate_pem, ca_pem=self.authority.pem)
        )

    def _prove_possession(self, request: RecoverRequest) -> str:
        """Return the fingerprint of the certificate shown. Raises Refused, IdentityRefused."""
        try:
            certificate = x509.load_pem_x509_certificate(request.certificate_pem.encode())
            key = check_public_key(certificate.public_key())
            signature = base64.b64decode(request.signature_base64, validate=True)
        except (ValueError, binascii.Error) as error:
            detail = "The certificate or the signature cannot be read."
            raise Refused(400, "recover.malformed", detail) from error
        if not self.authority.signed(certificate):
            message = "This installation did not sign the certificate."
            raise IdentityRefused("certificate.unknown", message)
        if not signature_holds(key, signature, request.nonce.encode()):
            message = "The challenge was not signed by the key of the certificate."
            raise IdentityRefused("challenge.signature", message)
        return certificate.fingerprint(hashes.SHA256()).hex()
