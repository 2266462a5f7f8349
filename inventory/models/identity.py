"""How a node proves who it is: one-time tokens to join, certificates ever after."""

from django.conf import settings
from django.db import models

from inventory.identifiers import uuid7
from inventory.models.nodes import Node


class EnrolmentToken(models.Model):
    """A secret that lets one machine become one node, once, before it expires. Kept as a digest.

    `key_digest` names the key it was used for: whoever lost the answer may ask again with the same
    key, and nobody else.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="enrolment_tokens")
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    key_digest = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"token for {self.node_id}"


class NodeCertificate(models.Model):
    """A certificate the installation's authority signed for a node.

    `fingerprint` is the SHA-256 of its DER form in hex; it is looked up on every request, so a
    revocation takes effect at the next one. `key_digest` is the SHA-256 of its public key;
    `nonce` the challenge answered to get it, for one that ended an absence.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="certificates")
    fingerprint = models.CharField(max_length=64, unique=True)
    serial = models.CharField(max_length=50)
    key_digest = models.CharField(max_length=64, blank=True)
    nonce = models.CharField(max_length=200, null=True, unique=True)
    not_before = models.DateTimeField()
    not_after = models.DateTimeField()
    issued_at = models.DateTimeField()
    first_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_because = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["-issued_at"]

    def __str__(self) -> str:
        return f"{self.node_id} {self.fingerprint[:12]}"
