"""How a machine becomes a node, proves it ever after, and ceases to.

Signing itself is passed in: this module decides who may have a certificate, the authority makes
it. A node's certificates are superseded when the next one is first used, never before: the
answer that carried the next one may have been lost.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol
from uuid import UUID

from django.core.signing import BadSignature, Signer
from django.db import IntegrityError, transaction
from django.db.models import Q

from inventory.access import Actor, check_may_administer
from inventory.errors import InfraError
from inventory.identifiers import uuid7
from inventory.lifecycles import IllegalNodeTransition, NodeEvent, NodeLifecycle, advance_node
from inventory.models import EnrolmentToken, Node, NodeCertificate, NodeLink
from operations.audit import record_audit
from operations.intents.call import Call
from operations.outbox import publish, wake_node

TOKEN_LIFE = timedelta(hours=24)
TOKEN_PREFIX = "infra_node_"  # noqa: S105  a prefix, not a secret
CHALLENGE_LIFE = timedelta(minutes=2)
SUPERSEDED = "superseded"
_CHALLENGES = Signer(salt="infra.node.recovery")


@dataclass(frozen=True)
class SignedCertificate:
    """A certificate as the authority made it; `fingerprint` and `key_digest` are SHA-256 in hex."""

    pem: str
    fingerprint: str
    serial: str
    key_digest: str
    not_before: datetime
    not_after: datetime


class CertificateSigner(Protocol):
    """What is needed of an authority. Both raise Invalid for a request that is not good enough."""

    def key_digest(self, csr_pem: str) -> str: ...

    def sign_node(self, node_id: UUID, csr_pem: str, *, now: datetime) -> SignedCertificate: ...


@dataclass(eq=False)
class IdentityRefused(InfraError):
    """A token, certificate or challenge that is not accepted; `refusal` is the permanent code."""

    refusal: str
    message: str
    title = "This machine's identity was not accepted"

    @property
    def code(self) -> str:  # type: ignore[override]
        return self.refusal

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class KnownNode:
    """The node a certificate stands for, as it is now."""

    node_id: UUID
    name: str
    fingerprint: str


@dataclass(frozen=True)
class Enrolled:
    """A node's new identity."""

    node_id: UUID
    node_name: str
    certificate_pem: str


def create_enrolment_token(node: Node, call: Call, *, life: timedelta = TOKEN_LIFE) -> str:
    """Return a new token that lets one machine become this node; it is shown only now.

    Earlier tokens of the node that were not used end. Raises Forbidden, IdentityRefused.
    """
    check_may_administer(call.actor, "enrol", f"node {node.name}")
    token = TOKEN_PREFIX + secrets.token_urlsafe(32)
    with transaction.atomic():
        _check_may_join(Node.objects.select_for_update(no_key=True).get(pk=node.pk))
        EnrolmentToken.objects.filter(
            node=node, used_at__isnull=True, expires_at__gt=call.now
        ).update(expires_at=call.now)
        EnrolmentToken.objects.create(
            id=uuid7(),
            node=node,
            digest=_digest(token),
            created_at=call.now,
            created_by_id=call.actor.user_id,
            expires_at=call.now + life,
        )
        _audit(call, "node.token", node, {"expires_at": (call.now + life).isoformat()})
    return token


def enrol(token: str, csr_pem: str, *, signer: CertificateSigner, now: datetime) -> Enrolled:
    """Exchange a token for a certificate. The same key may ask again while the token lives.

    Raises IdentityRefused (`token.unknown`, `token.expired`, `token.used`, `node.left`), Invalid.
    """
    key_digest = signer.key_digest(csr_pem)
    with transaction.atomic():
        row = EnrolmentToken.objects.select_for_update().filter(digest=_digest(token)).first()
        _check_token(row, key_digest, now=now)
        if row is None:  # pragma: no cover  checked above; this tells the type checker
            raise AssertionError
        NodeLink.objects.bulk_create([NodeLink(node_id=row.node_id)], ignore_conflicts=True)
        node = Node.objects.select_for_update(no_key=True).get(pk=row.node_id)
        _join(node, now=now)
        if row.used_at is None:
            row.used_at, row.key_digest = now, key_digest
            row.save(update_fields=["used_at", "key_digest"])
        return _issue(node, csr_pem, "enrolled", signer=signer, now=now)


def _check_token(row: EnrolmentToken | None, key_digest: str, *, now: datetime) -> None:
    if row is None:
        message = "There is no such enrolment token. Make one with: infra node token NODE"
        raise IdentityRefused("token.unknown", message)
    if row.expires_at <= now:
        raise IdentityRefused("token.expired", "The enrolment token has expired; make a new one.")
    if row.used_at is not None and row.key_digest != key_digest:
        message = (
            "The enrolment token was used already. If it was by this machine, it is a node and "
            "nothing is missing; otherwise make a new token with: infra node token NODE"
        )
        raise IdentityRefused("token.used", message)


def _check_may_join(node: Node) -> NodeLifecycle:
    try:
        return advance_node(NodeLifecycle(node.lifecycle), NodeEvent.ENROL)
    except IllegalNodeTransition as error:
        message = f"Node {node.name} is {node.lifecycle}; a machine that comes back is a new node."
        raise IdentityRefused("node.left", message) from error


def _join(node: Node, *, now: datetime) -> None:
    lifecycle = _check_may_join(node)
    if lifecycle == node.lifecycle:
        return
    node.lifecycle = lifecycle
    node.joined_at = node.joined_at or now
    node.revision += 1
    node.save(update_fields=["lifecycle", "joined_at", "revision"])


def renew(known: KnownNode, csr_pem: str, *, signer: CertificateSigner, now: datetime) -> Enrolled:
    """Return the next certificate of a node that has shown a valid one. Raises Invalid."""
    with transaction.atomic():
        node = Node.objects.select_for_update(no_key=True).get(pk=known.node_id)
        return _issue(node, csr_pem, "renewed", signer=signer, now=now)


def make_challenge(*, now: datetime) -> str:
    """Return a nonce for `recover`; nothing is stored until it is used."""
    return _CHALLENGES.sign(f"{int(now.timestamp())}.{secrets.token_hex(16)}")


def recover(
    fingerprint: str, nonce: str, csr_pem: str, *, signer: CertificateSigner, now: datetime
) -> Enrolled:
    """Return a new certificate for the holder of an expired one, who has signed the nonce.

    The caller has verified the signature. Raises IdentityRefused (`challenge.*`, `certificate.*`,
    `node.left`), Invalid.
    """
    _check_challenge(nonce, now=now)
    with transaction.atomic():
        held = NodeCertificate.objects.filter(fingerprint=fingerprint).first()
        if held is None:
            raise _unknown_certificate()
        node = Node.objects.select_for_update(no_key=True).get(pk=held.node_id)
        held.refresh_from_db()
        _check_not_revoked(held, node)
        if held.not_after > now:
            message = "The certificate has not expired; renew it instead."
            raise IdentityRefused("certificate.not_expired", message)
        return _issue(node, csr_pem, "recovered", signer=signer, now=now, nonce=nonce)


def _check_challenge(nonce: str, *, now: datetime) -> None:
    try:
        issued = int(_CHALLENGES.unsign(nonce).partition(".")[0])
    except (BadSignature, ValueError) as error:
        message = "This challenge was not made by this installation."
        raise IdentityRefused("challenge.unknown", message) from error
    if now.timestamp() - issued > CHALLENGE_LIFE.total_seconds():
        raise IdentityRefused("challenge.expired", "The challenge has expired; ask for another.")


def authenticate(fingerprint: str, *, now: datetime) -> KnownNode:
    """Return the node behind a certificate, in one query; more only at its first use.

    Raises IdentityRefused: `certificate.unknown`, `.superseded`, `.revoked`, `.expired`,
    `node.left`.
    """
    held = (
        NodeCertificate.objects.select_related("node")
        .only(
            "node__name", "node__lifecycle", "node_id", "fingerprint", "not_after", "first_used_at",
            "revoked_at", "revoked_because", "issued_at",
        )
        .filter(fingerprint=fingerprint)
        .first()
    )  # fmt: skip
    if held is None:
        raise _unknown_certificate()
    _check_not_revoked(held, held.node)
    if held.not_after <= now:
        raise IdentityRefused("certificate.expired", "The certificate has expired; recover it.")
    if held.first_used_at is None:
        _take_first_use(held, now=now)
    return KnownNode(held.node_id, held.node.name, fingerprint)


def _unknown_certificate() -> IdentityRefused:
    message = "The installation has no record of this certificate; enrol the machine again."
    return IdentityRefused("certificate.unknown", message)


def _check_not_revoked(held: NodeCertificate, node: Node) -> None:
    if node.lifecycle == NodeLifecycle.LEFT:
        raise IdentityRefused("node.left", f"Node {node.name} has left this installation.")
    if held.revoked_at is None:
        return
    if held.revoked_because == SUPERSEDED:
        message = "A newer certificate of this node is in use; use that one."
        raise IdentityRefused("certificate.superseded", message)
    message = f"The certificate was revoked: {held.revoked_because}"
    raise IdentityRefused("certificate.revoked", message)


def _take_first_use(held: NodeCertificate, *, now: datetime) -> None:
    """End the earlier certificates of the node, for this one has been shown to have arrived."""
    with transaction.atomic():
        Node.objects.select_for_update(no_key=True).get(pk=held.node_id)
        used = NodeCertificate.objects.filter(pk=held.pk, first_used_at__isnull=True)
        if not used.update(first_used_at=now):
            return
        earlier = NodeCertificate.objects.filter(
            ~Q(pk=held.pk),
            node_id=held.node_id,
            revoked_at__isnull=True,
            issued_at__lte=held.issued_at,
        )
        if earlier.update(revoked_at=now, revoked_because=SUPERSEDED):
            wake_node(held.node_id)


def revoke_node_certificates(node: Node, because: str, *, now: datetime) -> int:
    """Revoke all certificates and tokens of a node and close its live polls; return how many.

    Runs in the caller's transaction, which also writes the audit row of the change it belongs to.
    """
    EnrolmentToken.objects.filter(node=node, expires_at__gt=now).update(expires_at=now)
    revoked = NodeCertificate.objects.filter(node=node, revoked_at__isnull=True).update(
        revoked_at=now, revoked_because=because[:200]
    )
    wake_node(node.pk)
    return revoked


def _issue(
    node: Node,
    csr_pem: str,
    action: str,
    *,
    signer: CertificateSigner,
    now: datetime,
    nonce: str | None = None,
) -> Enrolled:
    signed = signer.sign_node(node.pk, csr_pem, now=now)
    try:
        with transaction.atomic():
            NodeCertificate.objects.create(
                id=uuid7(),
                node=node,
                fingerprint=signed.fingerprint,
                serial=signed.serial,
                key_digest=signed.key_digest,
                nonce=nonce,
                not_before=signed.not_before,
                not_after=signed.not_after,
                issued_at=now,
            )
    except IntegrityError as error:
        raise IdentityRefused("challenge.used", "The challenge was used already.") from error
    evidence: dict[str, object] = {
        "fingerprint": signed.fingerprint,
        "not_after": signed.not_after.isoformat(),
    }
    call = Call(actor=Actor(user_id=None, label=f"node {node.name}"), now=now)
    _audit(call, f"node.{action}", node, evidence)
    publish("node", action, node.pk, now=now)
    return Enrolled(node.pk, node.name, signed.pem)


def _audit(call: Call, action: str, node: Node, after: dict[str, object]) -> None:
    record_audit(call, action, kind="node", object_id=node.pk, name=node.name, after=after)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
