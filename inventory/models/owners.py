"""Owners (teams) and who belongs to them."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from inventory.identifiers import uuid7


class Owner(models.Model):
    """A team that owns resources. Exactly one is the default, for people who need only one."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100, unique=True)
    is_default = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["is_default"],
                condition=Q(is_default=True),
                name="inventory_owner_one_default",
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    """What a member may do: see, act, or also change who may."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    OWNER = "owner", "Owner"


class Membership(models.Model):
    """A person's role in an owner. No row, no access."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    owner = models.ForeignKey(Owner, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "owner"], name="inventory_membership_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.owner}"
