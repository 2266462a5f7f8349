"""Rows of operations: what was asked, the steps to it, and the journal of what happened."""

import pgtrigger
from django.conf import settings
from django.db import models
from django.db.models import Q

from inventory.identifiers import uuid7
from inventory.models.nodes import Node
from inventory.models.owners import Owner
from inventory.models.resources import NextPublicId, Resource
from operations.transitions import FINISHED_OPERATIONS, OperationState, StepState


class Operation(models.Model):
    """A change that was asked for, by a person or by the loop, and how far it has come.

    (`epoch`, `generation`) is the declaration it works towards. `state` is summed up from the
    steps and never set otherwise. `waiting_on` says in words and numbers why nothing moves.
    `previous` is the declaration before, to which a cancel returns.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    public_id = models.BigIntegerField(unique=True, editable=False, db_default=NextPublicId())
    kind = models.CharField(max_length=64)
    resource = models.ForeignKey(
        Resource, on_delete=models.PROTECT, null=True, related_name="operations"
    )
    resource_kind = models.CharField(max_length=32, blank=True)
    resource_name = models.CharField(max_length=100, blank=True)
    owner = models.ForeignKey(Owner, on_delete=models.PROTECT, null=True, related_name="operations")
    epoch = models.PositiveIntegerField(default=1)
    generation = models.PositiveBigIntegerField(default=0)
    state = models.CharField(
        max_length=16,
        choices=[(state, state) for state in OperationState],
        default=OperationState.QUEUED,
    )
    cause = models.CharField(max_length=32, default="person")
    reason = models.TextField(blank=True)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="operations"
    )
    actor_label = models.CharField(max_length=150)
    request_id = models.CharField(max_length=64, blank=True)
    parent = models.ForeignKey("self", on_delete=models.PROTECT, null=True, related_name="children")
    retry_of = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="retries"
    )
    superseded_by = models.ForeignKey(
        "self", on_delete=models.PROTECT, null=True, related_name="supersedes"
    )
    previous = models.JSONField(null=True)
    waiting_on = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    due_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=FINISHED_OPERATIONS, finished_at__isnull=False)
                | (~Q(state__in=FINISHED_OPERATIONS) & Q(finished_at__isnull=True)),
                name="operations_finished_at_iff_finished",
            ),
        ]
        indexes = [
            models.Index(
                fields=["due_at"], name="operations_due", condition=Q(finished_at__isnull=True)
            ),
            models.Index(fields=["resource", "-id"], name="operations_of_resource"),
            models.Index(fields=["state", "-id"], name="operations_by_state"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.resource_name} ({self.state})"


class Step(models.Model):
    """One step of an operation, in the order of `index`.

    `node` is set for steps that a node carries out; (`epoch`, `generation`) is the declaration
    it is sent under, and `delivery` the answer it went out in. `ready` says that its predecessors
    are done, so the agent edge may hand it out. `evidence` is what its end rests on.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="steps")
    index = models.PositiveSmallIntegerField()
    kind = models.CharField(max_length=32)
    state = models.CharField(
        max_length=16, choices=[(state, state) for state in StepState], default=StepState.UNSENT
    )
    node = models.ForeignKey(Node, on_delete=models.PROTECT, null=True, related_name="steps")
    ready = models.BooleanField(default=False)
    epoch = models.PositiveIntegerField(default=0)
    generation = models.PositiveBigIntegerField(default=0)
    delivery = models.PositiveBigIntegerField(default=0)
    attempts = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField()
    sent_at = models.DateTimeField(null=True)
    acknowledged_at = models.DateTimeField(null=True)
    unknown_since = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    reason = models.CharField(max_length=100, blank=True)
    message = models.TextField(blank=True)
    progress = models.TextField(blank=True)
    evidence = models.JSONField(default=dict)

    class Meta:
        ordering = ["index"]
        constraints = [
            models.UniqueConstraint(fields=["operation", "index"], name="operations_step_order"),
        ]
        indexes = [
            models.Index(
                fields=["node", "id"],
                name="operations_step_handout",
                condition=Q(state=StepState.UNSENT, ready=True),
            ),
            models.Index(
                fields=["node", "delivery"],
                name="operations_step_in_flight",
                condition=Q(state__in=[StepState.SENT, StepState.ACKNOWLEDGED, StepState.UNKNOWN]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} ({self.state})"


class Journal(models.Model):
    """What happened to an operation, line by line. Append-only, held by the database."""

    id = models.BigAutoField(primary_key=True)
    operation = models.ForeignKey(Operation, on_delete=models.CASCADE, related_name="journal")
    step = models.ForeignKey(Step, on_delete=models.CASCADE, null=True, related_name="journal")
    at = models.DateTimeField()
    event = models.CharField(max_length=32)
    before = models.CharField(max_length=16, blank=True)
    after = models.CharField(max_length=16, blank=True)
    because = models.TextField()
    evidence = models.JSONField(default=dict)

    class Meta:
        ordering = ["id"]
        verbose_name_plural = "journal"
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete),
        ]

    def __str__(self) -> str:
        return f"{self.event}: {self.because}"
