"""Sealing: making a lost order harmless by declaring the same under a newer generation."""

from __future__ import annotations

from datetime import datetime

from inventory.models import Resource
from operations.intents.opening import current_epoch
from operations.models import Step


def seal(step: Step, resource: Resource, *, now: datetime) -> None:
    """Raise the resource's generation, unless a newer intent has done so; the step follows it.

    The agent refuses anything older from the moment it accepts the newer declaration.
    """
    operation = step.operation
    step.ready = False
    step.save(update_fields=["ready"])
    if (resource.epoch, resource.generation) > (step.epoch, step.generation):
        return
    epoch = current_epoch()
    resource.generation = resource.generation + 1 if resource.epoch == epoch else 1
    resource.epoch = epoch
    resource.updated_at = now
    resource.save(update_fields=["epoch", "generation", "updated_at"])
    operation.epoch, operation.generation = resource.epoch, resource.generation
    operation.save(update_fields=["epoch", "generation"])
