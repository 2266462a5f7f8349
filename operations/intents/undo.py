"""The way back: declaring again what was declared before a cancelled operation."""

from __future__ import annotations

from dataclasses import replace

from inventory.access import LOOP
from inventory.models import Dependency, Droplet, Kind, Resource
from inventory.specs import DropletSpec
from operations.intents.call import Call
from operations.intents.droplets import find_references, write_dependencies, write_typed
from operations.intents.opening import bump
from operations.models import Operation
from operations.planning.droplets import DropletOperation
from operations.reservations import fit, release


def restore_declaration(call: Call, operation: Operation, resource: Resource) -> None:
    """Declare what stood before the operation; for a creation that is nothing at all.

    Only called while no node has been sent anything of the operation, so nothing is left there.
    Raises Invalid when what the former declaration names is gone.
    """
    if operation.kind.endswith(".create"):
        resource.absent = True
        resource.deleted_at = call.now
        release(resource, now=call.now)
        Dependency.objects.filter(dependent=resource).delete()
    elif operation.previous is not None:
        _restore(call, operation, resource)
    bump(resource, call)


def _restore(call: Call, operation: Operation, resource: Resource) -> None:
    previous = operation.previous or {}
    resource.name = previous["name"]
    resource.labels = previous["labels"]
    resource.protected = previous["protected"]
    resource.spec = previous["spec"]
    resource.absent = False
    if resource.kind == Kind.DROPLET and operation.kind != DropletOperation.DELETE:
        spec = DropletSpec.model_validate(previous["spec"])
        droplet = Droplet.objects.get(resource=resource)
        references = find_references(replace(call, actor=LOOP), resource.owner_id, spec)
        droplet.restarts = previous["restarts"]
        droplet.rebuilds = previous["rebuilds"]
        write_typed(droplet, spec, references)
        droplet.save()
        write_dependencies(call, droplet, references)
        fit(resource, droplet.amount)
