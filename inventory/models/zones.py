"""Zones: blast radii somebody drew. They nest."""

from django.db import models
from tree_queries.fields import TreeNodeForeignKey
from tree_queries.query import TreeQuerySet

from inventory.identifiers import uuid7


class Zone(models.Model):  # type: ignore[django-manager-missing]  # tree_queries has no stubs
    """A unit of failure, latency and jurisdiction at once: a rack, a room, a region, a site.

    `kind_label` is free text for people ("rack"); `jurisdiction` is inherited down the tree where
    it is empty.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    parent = TreeNodeForeignKey(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="children"
    )
    name = models.CharField(max_length=100, unique=True)
    kind_label = models.CharField(max_length=50, blank=True)
    jurisdiction = models.CharField(max_length=50, blank=True)
    labels = models.JSONField(default=dict, blank=True)
    revision = models.PositiveBigIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = TreeQuerySet.as_manager()  # type: ignore[django-manager-missing]

    class Meta:
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=~models.Q(parent=models.F("id")), name="inventory_zone_not_own_parent"
            ),
        ]

    def __str__(self) -> str:
        return self.name
