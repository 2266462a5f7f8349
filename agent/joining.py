"""Becoming a node, and coming back after the certificate ran out: over server-side TLS only."""

from __future__ import annotations

import base64
import ssl

import httpx2
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from agent.identity import About, Identity, IdentityStore, signing_request, trusting
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
from agent.protocol.values import WireValue
from agent.wire import ANSWER_SECONDS, CONNECT_SECONDS, Answer, Unheard, understand


def enrol(
    store: IdentityStore, *, url: str, ca_pem: str, token: str, address: str, name: str
) -> Identity:
    """Exchange the token for an identity; safe to repeat while the token lives.

    Raises Unheard, TurnedAway, BadIdentity, ssl.SSLError.
    """
    request = EnrolRequest(token=token, csr_pem=signing_request(store.pending_key(), name))
    with _line(url, trusting(ca_pem)) as line:
        response = _ask(line, ENROL_PATH, request, EnrolResponse)
    about = About(
        node_id=response.node_id,
        node_name=response.node_name,
        installation=response.installation,
        edge_url=response.edge_url,
        enrol_url=url,
        address=address,
    )
    return store.save(about, certificate_pem=response.certificate_pem, ca_pem=response.ca_pem)


def recover(store: IdentityStore, expired: Identity) -> Identity:
    """Get the next identity with the key of one that ran out.

    Raises Unheard, TurnedAway, BadIdentity.
    """
    csr_pem = signing_request(store.pending_key(), expired.about.node_name)
    with _line(expired.about.enrol_url, expired.anonymous_context()) as line:
        challenge = _ask(line, CHALLENGE_PATH, None, ChallengeResponse)
        signature = expired.key().sign(challenge.nonce.encode(), ec.ECDSA(hashes.SHA256()))
        request = RecoverRequest(
            certificate_pem=expired.certificate_pem,
            nonce=challenge.nonce,
            signature_base64=base64.b64encode(signature).decode(),
            csr_pem=csr_pem,
        )
        response = _ask(line, RECOVER_PATH, request, RenewResponse)
    return store.save(
        expired.about, certificate_pem=response.certificate_pem, ca_pem=response.ca_pem
    )


def _line(url: str, context: ssl.SSLContext) -> httpx2.Client:
    timeout = httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS)
    return httpx2.Client(base_url=url, verify=context, timeout=timeout, trust_env=False)


def _ask(line: httpx2.Client, path: str, request: WireValue | None, answer: type[Answer]) -> Answer:
    content = request.model_dump_json().encode() if request else b"{}"
    try:
        response = line.post(path, content=content, headers={"content-type": "application/json"})
    except (httpx2.HTTPError, ssl.SSLError, OSError) as error:
        raise Unheard(f"{type(error).__name__}: {error}") from error
    return understand(response, answer)
