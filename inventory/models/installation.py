"""The installation itself: who this control plane is, to its agents."""

from django.db import models

from inventory.identifiers import uuid7


class Installation(models.Model):
    """The one row that names this control plane. A restore raises `epoch` and draws a new token.

    `watching_since` is since when nodes have been listened to without a gap; a silence from
    before it is the control plane's own.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    singleton = models.BooleanField(default=True, editable=False, unique=True)
    name = models.CharField(max_length=100, default="infra")
    epoch = models.PositiveIntegerField(default=1)
    token = models.CharField(max_length=64)
    created_at = models.DateTimeField()
    swept_at = models.DateTimeField(null=True)
    watching_since = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(singleton=True), name="inventory_installation_is_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (epoch {self.epoch})"
