"""Images: what the disks of droplets start from."""

from django.db import models
from django.db.models import Q

from inventory.models.resources import Resource


class Image(models.Model):
    """The typed side of an image: named by its content, so that it can be verified anywhere.

    Without a `url` the bytes come from the installation's own store.
    """

    resource = models.OneToOneField(
        Resource, on_delete=models.CASCADE, primary_key=True, related_name="image"
    )
    sha256 = models.CharField(max_length=64, db_index=True)
    format = models.CharField(max_length=8, choices=[("raw", "raw"), ("qcow2", "qcow2")])
    size_bytes = models.PositiveBigIntegerField()
    min_disk_gib = models.PositiveIntegerField(default=1)
    url = models.URLField(max_length=2000, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(sha256__regex=r"^[0-9a-f]{64}$"), name="inventory_image_sha256_is_hex"
            ),
            models.CheckConstraint(
                condition=Q(format__in=["raw", "qcow2"]), name="inventory_image_format_known"
            ),
            models.CheckConstraint(condition=Q(size_bytes__gt=0), name="inventory_image_not_empty"),
        ]

    def __str__(self) -> str:
        return f"{self.format} {self.sha256[:12]}"
