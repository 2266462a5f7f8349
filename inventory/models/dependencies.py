"""What depends on what, written in the same transaction as the change that makes it so."""

from django.db import models
from django.db.models import Q

from inventory.identifiers import uuid7
from inventory.models.nodes import Node
from inventory.models.resources import Resource


class Relation(models.TextChoices):
    """How the dependent needs the other."""

    EXECUTES_ON = "executes_on", "executes on"
    IMAGE_SOURCE = "image_source", "starts from image"
    KEY_SOURCE = "key_source", "takes key"


class Dependency(models.Model):
    """`dependent` needs exactly one node or one other resource, in one way."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    dependent = models.ForeignKey(Resource, on_delete=models.CASCADE, related_name="depends_on")
    relation = models.CharField(max_length=32, choices=Relation.choices)
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="dependents")
    resource = models.ForeignKey(
        Resource, on_delete=models.PROTECT, null=True, related_name="dependents"
    )
    since = models.DateTimeField()

    class Meta:
        verbose_name_plural = "dependencies"
        constraints = [
            models.CheckConstraint(
                condition=Q(node__isnull=False, resource__isnull=True)
                | Q(node__isnull=True, resource__isnull=False),
                name="inventory_dependency_one_target",
            ),
            models.UniqueConstraint(
                fields=["dependent", "relation", "node", "resource"],
                nulls_distinct=False,
                name="inventory_dependency_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.dependent_id} {self.relation} {self.node_id or self.resource_id}"
