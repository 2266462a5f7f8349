"""The way back: declaring again what was declared before a cancelled operation."""

from __future__ import annotations

from inventory.models import Dependency, Droplet, Kind, Resource
from operations.intents.call import Call
from operations.intents.opening import bump
from operations.models import Operation
from operations.planning.droplets import DropletOperation


def restore_declaration(call: Call, operation: Operation, resource: Resource) -> None:
    """Declare what stood before the operation; for a creation that is nothing at all.

    Only called while no node has been sent anything of the operation, so nothing is left there.
    """
    if operation.kind.endswith(".create"):
        resource.absent = True
        resource.deleted_at = call.now
        Dependency.objects.filter(dependent=resource).delete()
    elif operation.previous is not None:
        _restore(operation, resource)
    bump(resource, call)


def _restore(operation: Operation, resource: Resource) -> None:
    previous = operation.previous or {}
    resource.name = previous["name"]
    resource.labels = previous["labels"]
    resource.protected = previous["protected"]
    resource.spec = previous["spec"]
    resource.absent = False
    if resource.kind == Kind.DROPLET and operation.kind != DropletOperation.DELETE:
        spec = previous["spec"]
        Droplet.objects.filter(resource=resource).update(
            vcpus=spec["vcpus"],
            memory_mib=spec["memory_mib"],
            disk_gib=spec["disk_gib"],
            power=spec["power"],
            stop_grace_seconds=spec["stop"]["grace_seconds"],
            stop_force=spec["stop"]["force"],
            user_data=spec["user_data"],
            restarts=previous["restarts"],
            rebuilds=previous["rebuilds"],
        )
