"""Where a droplet executes: one authoritative placement, and the claim on its node's room."""

from django.db import models
from django.db.models import Q

from inventory.capacity import Amount
from inventory.identifiers import uuid7
from inventory.models.nodes import Node
from inventory.models.resources import Resource


class Placement(models.Model):
    """A claim of a droplet on a node's room, from `claimed_at` until `released_at`.

    `explanation` keeps why this node and not the others. `committed_ordinal` and
    `committed_sequence` are the node's (incarnation, sequence) at the claim: an inventory that is
    not newer says nothing about this placement.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    resource = models.ForeignKey(Resource, on_delete=models.PROTECT, related_name="placements")
    node = models.ForeignKey(Node, on_delete=models.PROTECT, related_name="placements")
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    disk_gib = models.PositiveIntegerField()
    operation_id = models.UUIDField()
    explanation = models.JSONField(default=dict)
    committed_ordinal = models.PositiveBigIntegerField(default=0)
    committed_sequence = models.PositiveBigIntegerField(default=0)
    claimed_at = models.DateTimeField()
    released_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["resource"],
                condition=Q(released_at__isnull=True),
                name="inventory_placement_one_active",
            ),
        ]
        indexes = [
            models.Index(
                fields=["node"],
                condition=Q(released_at__isnull=True),
                name="inventory_placement_on_node",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource_id} on {self.node_id}"

    @property
    def amount(self) -> Amount:
        return Amount(self.vcpus, self.memory_mib, self.disk_gib)
