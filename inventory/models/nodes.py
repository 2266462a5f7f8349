"""Nodes: anything with an address, a lifecycle and a capacity that can be told what to do."""

from decimal import Decimal

from django.db import models
from django.db.models import Q

from inventory.capacity import Amount, OverCommit
from inventory.identifiers import uuid7
from inventory.lifecycles import NodeLifecycle
from inventory.models.zones import Zone


class Node(models.Model):
    """A machine that holds workloads.

    Declared by people: name, zone, labels, over-commit, lifecycle. Told by its agent: address,
    capacity (vCPUs, MiB, GiB), capabilities and problems. Kept by reservations: the used amounts.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    name = models.CharField(max_length=100)
    zone = models.ForeignKey(Zone, on_delete=models.PROTECT, related_name="nodes")
    lifecycle = models.CharField(
        max_length=16,
        choices=[(state, state) for state in NodeLifecycle],
        default=NodeLifecycle.JOINING,
    )
    labels = models.JSONField(default=dict, blank=True)
    overcommit_vcpus = models.DecimalField(max_digits=5, decimal_places=2, default=Decimal(4))
    overcommit_memory = models.DecimalField(max_digits=5, decimal_places=2, default=Decimal(1))
    overcommit_disk = models.DecimalField(max_digits=5, decimal_places=2, default=Decimal(1))

    address = models.CharField(max_length=255, blank=True)
    agent_version = models.CharField(max_length=50, blank=True)
    vcpus = models.PositiveIntegerField(default=0)
    memory_mib = models.PositiveIntegerField(default=0)
    disk_gib = models.PositiveIntegerField(default=0)
    capabilities = models.JSONField(default=dict, blank=True)
    problems = models.JSONField(default=dict, blank=True)
    details = models.JSONField(default=dict, blank=True)

    used_vcpus = models.PositiveIntegerField(default=0)
    used_memory_mib = models.PositiveIntegerField(default=0)
    used_disk_gib = models.PositiveIntegerField(default=0)

    revision = models.PositiveBigIntegerField(default=1, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    joined_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [
            models.UniqueConstraint(
                fields=["name"],
                condition=~Q(lifecycle=NodeLifecycle.LEFT),
                name="inventory_node_unique_name_while_here",
            ),
            models.CheckConstraint(
                condition=Q(overcommit_vcpus__gt=0)
                & Q(overcommit_memory__gt=0)
                & Q(overcommit_disk__gt=0),
                name="inventory_node_overcommit_positive",
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def capacity(self) -> Amount:
        return Amount(self.vcpus, self.memory_mib, self.disk_gib)

    @property
    def used(self) -> Amount:
        return Amount(self.used_vcpus, self.used_memory_mib, self.used_disk_gib)

    @property
    def over_commit(self) -> OverCommit:
        return OverCommit(self.overcommit_vcpus, self.overcommit_memory, self.overcommit_disk)


class NodeCondition(models.Model):
    """Something that is so about a node just now, beside its lifecycle, and since when."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="conditions")
    kind = models.CharField(max_length=50)
    message = models.TextField(blank=True)
    since = models.DateTimeField()

    class Meta:
        ordering = ["kind"]
        constraints = [
            models.UniqueConstraint(fields=["node", "kind"], name="inventory_nodecondition_once"),
        ]

    def __str__(self) -> str:
        return f"{self.node}: {self.kind}"


class NodeLink(models.Model):
    """What is known of the conversation with a node's agent. Written by the agent edge only.

    Times are the control plane's own. `delivery` counts answers that carried work; `delivered` is
    the highest the agent says it has written down.
    """

    node = models.OneToOneField(
        Node, on_delete=models.CASCADE, primary_key=True, related_name="link"
    )
    incarnation_id = models.UUIDField(null=True)
    incarnation_ordinal = models.PositiveBigIntegerField(default=0)
    boot_id = models.CharField(max_length=64, blank=True)
    init_started = models.BigIntegerField(default=0)
    poll_number = models.PositiveBigIntegerField(default=0)
    delivery = models.PositiveBigIntegerField(default=0)
    delivered = models.PositiveBigIntegerField(default=0)
    sequence = models.PositiveBigIntegerField(default=0)
    inventory_at = models.DateTimeField(null=True)
    journal_through = models.PositiveBigIntegerField(default=0)
    clock_offset_seconds = models.FloatField(null=True)
    ledger_wanted = models.BooleanField(default=False)
    ledger_asked = models.BooleanField(default=False)
    last_seen = models.DateTimeField(null=True, db_index=True)

    def __str__(self) -> str:
        return f"link to {self.node_id}"


class NodeJournal(models.Model):
    """A line of a node agent's own journal, shipped from its ledger."""

    id = models.BigAutoField(primary_key=True)
    node = models.ForeignKey(Node, on_delete=models.CASCADE, related_name="journal")
    number = models.PositiveBigIntegerField()
    at = models.DateTimeField()
    received_at = models.DateTimeField()
    severity = models.CharField(max_length=16)
    event = models.CharField(max_length=100)
    message = models.TextField(blank=True)
    resource_id = models.UUIDField(null=True)
    step_id = models.UUIDField(null=True)

    class Meta:
        ordering = ["-id"]
        constraints = [
            models.UniqueConstraint(fields=["node", "number"], name="inventory_nodejournal_once"),
        ]
        indexes = [models.Index(fields=["resource_id", "-id"], name="inventory_nj_resource")]

    def __str__(self) -> str:
        return f"{self.node_id} #{self.number} {self.event}"
