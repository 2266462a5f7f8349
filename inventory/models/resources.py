"""Resources: what people declare. One row each, whatever the kind."""

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Func, Q

from inventory.identifiers import uuid7
from inventory.models.owners import Owner
from inventory.models.zones import Zone


class NextPublicId(Func):
    """The next number of the sequence that public ids come from."""

    template = "nextval('inventory_public_id')"
    output_field = models.BigIntegerField()


class Kind(models.TextChoices):
    """Kinds of resource known to the inventory. A new kind adds a line here and its modules."""

    DROPLET = "droplet", "Droplet"
    IMAGE = "image", "Image"
    SSH_KEY = "sshkey", "SSH key"


class Resource(models.Model):
    """A declaration: what somebody wants to be, in which zone, for which owner.

    `spec` is the declared document of the kind; the typed row of the kind holds the same facts
    under constraints. (`epoch`, `generation`) grows with every change an agent must see,
    `revision` with every change at all. `absent` says the wish is that it be gone; `deleted_at`
    that it is.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    public_id = models.BigIntegerField(unique=True, editable=False, db_default=NextPublicId())
    kind = models.CharField(max_length=32, choices=Kind.choices)
    name = models.CharField(max_length=100)
    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, related_name="resources")
    zone = models.ForeignKey(
        Zone, on_delete=models.PROTECT, related_name="resources", null=True, blank=True
    )
    labels = models.JSONField(default=dict, blank=True)
    spec = models.JSONField(default=dict)
    epoch = models.PositiveIntegerField(default=1)
    generation = models.PositiveBigIntegerField(default=1)
    revision = models.PositiveBigIntegerField(default=1)
    protected = models.BooleanField(default=False)
    absent = models.BooleanField(default=False)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "kind", "name"],
                condition=Q(deleted_at__isnull=True),
                name="inventory_resource_unique_name",
            ),
            models.CheckConstraint(
                condition=Q(deleted_at__isnull=True) | Q(absent=True),
                name="inventory_resource_deleted_was_declared_absent",
            ),
        ]
        indexes = [
            models.Index(
                fields=["kind", "-id"],
                name="inventory_resource_list",
                condition=Q(deleted_at__isnull=True),
            ),
            models.Index(
                fields=["kind", "name", "id"],
                name="inventory_resource_by_name",
                condition=Q(deleted_at__isnull=True),
            ),
            GinIndex(
                fields=["labels"], name="inventory_resource_labels", opclasses=["jsonb_path_ops"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
