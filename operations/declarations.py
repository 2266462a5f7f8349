"""Rows -> the declaration a node is sent."""

from __future__ import annotations

from agent.protocol.declarations import (
    AbsentDeclaration,
    Declaration,
    DropletDeclaration,
    ImageFormat,
    ImageReference,
    Power,
    StopPolicy,
)
from agent.protocol.values import Generation
from inventory.models import Droplet, Image, Resource


def declaration_of(resource: Resource) -> Declaration:
    """Return what the node must make true of a droplet now."""
    generation = Generation(epoch=resource.epoch, counter=resource.generation)
    if resource.absent:
        return AbsentDeclaration(
            resource_id=resource.pk, generation=generation, resource_kind=resource.kind
        )
    droplet = Droplet.objects.select_related("image").get(resource=resource)
    return DropletDeclaration(
        resource_id=resource.pk,
        generation=generation,
        name=resource.name,
        hostname=droplet.hostname,
        vcpus=droplet.vcpus,
        memory_mib=droplet.memory_mib,
        disk_gib=droplet.disk_gib,
        image=_image(droplet.image),
        power=Power(droplet.power),
        stop=StopPolicy(grace_seconds=droplet.stop_grace_seconds, force=droplet.stop_force),
        restarts=droplet.restarts,
        rebuilds=droplet.rebuilds,
        user_data=droplet.user_data,
        ssh_keys=tuple(droplet.ssh_keys.order_by("pk").values_list("public_key", flat=True)),
    )


def _image(image: Image) -> ImageReference:
    return ImageReference(
        resource_id=image.pk,
        sha256=image.sha256,
        format=ImageFormat(image.format),
        size_bytes=image.size_bytes,
        url=image.url or None,
    )
