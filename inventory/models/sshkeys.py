"""SSH keys: who may log in to a droplet."""

from django.db import models

from inventory.models.resources import Resource


class SshKey(models.Model):
    """The typed side of a public key. `fingerprint` is OpenSSH's `SHA256:...` form."""

    resource = models.OneToOneField(
        Resource, on_delete=models.CASCADE, primary_key=True, related_name="sshkey"
    )
    public_key = models.TextField()
    fingerprint = models.CharField(max_length=64, db_index=True)

    def __str__(self) -> str:
        return self.fingerprint
