"""The installation itself: who this control plane is, to its agents."""

from django.db import models

from inventory.identifiers import uuid7


class Installation(models.Model):
    """The one row that names this control plane. A restore raises `epoch` and draws a new token."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    singleton = models.BooleanField(default=True, editable=False, unique=True)
    name = models.CharField(max_length=100, default="infra")
    epoch = models.PositiveIntegerField(default=1)
    token = models.CharField(max_length=64)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(singleton=True), name="inventory_installation_is_one"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name} (epoch {self.epoch})"
