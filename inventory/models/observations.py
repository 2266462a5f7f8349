"""What the fleet reports. One writer: `operations.observations`."""

from django.db import models

from inventory.identifiers import uuid7
from inventory.models.nodes import Node
from inventory.models.resources import Resource


class ResourceObservation(models.Model):
    """The newest word of one node about one resource.

    Ordered by (`ordinal`, `sequence`): the node's incarnation and its report number. `presence` is
    what the hypervisor showed; the `ledger_` fields are what the agent has accepted. `data` is the
    observation as it came over the wire.
    """

    class Presence(models.TextChoices):
        """Seen, or missing from a list that was complete."""

        PRESENT = "present", "present"
        ABSENT = "absent", "absent"

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    resource = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="observations")
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="observations")
    ordinal = models.PositiveBigIntegerField()
    sequence = models.PositiveBigIntegerField()
    presence = models.CharField(max_length=8, choices=Presence.choices, blank=True)
    power = models.CharField(max_length=16, blank=True)
    epoch = models.PositiveIntegerField(default=0)
    generation = models.PositiveBigIntegerField(default=0)
    data = models.JSONField(default=dict)
    ledger_epoch = models.PositiveIntegerField(default=0)
    ledger_generation = models.PositiveBigIntegerField(default=0)
    ledger_absent = models.BooleanField(default=False)
    ledger_converged = models.BooleanField(default=False)
    seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["resource", "node"], name="inventory_observation_once_per_node"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.resource_id} on {self.node_id}: {self.presence} {self.power}"


class FoundObject(models.Model):
    """A guest on a node that this inventory did not declare. Listed, never touched."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="found_objects")
    native_id = models.CharField(max_length=100)
    name = models.CharField(max_length=255)
    power = models.CharField(max_length=16)
    vcpus = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveIntegerField(default=0)
    installation_id = models.UUIDField(null=True)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()

    class Meta:
        ordering = ["name", "id"]
        constraints = [
            models.UniqueConstraint(fields=["node", "native_id"], name="inventory_found_once"),
        ]

    def __str__(self) -> str:
        return f"{self.name} on {self.node_id}"
