"""Droplets: declared compute."""

from django.db import models
from django.db.models import Q

from inventory.capacity import Amount
from inventory.models.images import Image
from inventory.models.resources import Resource
from inventory.models.sshkeys import SshKey


class Droplet(models.Model):
    """The typed side of a droplet: sizes (vCPUs, MiB, GiB), power, and counters that only grow."""

    resource = models.OneToOneField(
        Resource, on_delete=models.CASCADE, primary_key=True, related_name="droplet"
    )
    image = models.ForeignKey(Image, on_delete=models.PROTECT, related_name="droplets")
    ssh_keys = models.ManyToManyField(SshKey, related_name="droplets", blank=True)
    vcpus = models.PositiveIntegerField()
    memory_mib = models.PositiveIntegerField()
    disk_gib = models.PositiveIntegerField()
    power = models.CharField(max_length=8, choices=[("running", "running"), ("stopped", "stopped")])
    stop_grace_seconds = models.PositiveIntegerField(default=60)
    stop_force = models.BooleanField(default=False)
    restarts = models.PositiveIntegerField(default=0)
    rebuilds = models.PositiveIntegerField(default=0)
    hostname = models.CharField(max_length=63)
    user_data = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(vcpus__gte=1) & Q(memory_mib__gte=16) & Q(disk_gib__gte=1),
                name="inventory_droplet_sizes_positive",
            ),
            models.CheckConstraint(
                condition=Q(power__in=["running", "stopped"]), name="inventory_droplet_power_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.vcpus} vCPU, {self.memory_mib} MiB, {self.disk_gib} GiB"

    @property
    def amount(self) -> Amount:
        return Amount(self.vcpus, self.memory_mib, self.disk_gib)
