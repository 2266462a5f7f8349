"""Carries out one action on the hypervisor. Nothing else changes anything on a node."""

from __future__ import annotations

from agent.actions import (
    Action,
    CreateDisk,
    Define,
    FetchImage,
    ForceStop,
    GrowDisk,
    Remove,
    RequestStop,
    Start,
)
from agent.drivers.base import Hypervisor, ImageStream


def apply(hypervisor: Hypervisor, action: Action, *, stream: ImageStream) -> None:
    """Return after the change can be seen. Raises what drivers raise: see `agent.drivers.base`."""
    match action:
        case FetchImage(image):
            hypervisor.fetch_image(image, stream)
        case CreateDisk(droplet):
            hypervisor.create_disk(droplet)
        case GrowDisk(droplet):
            hypervisor.grow_disk(droplet)
        case Define(droplet):
            hypervisor.define(droplet)
        case Start(droplet):
            hypervisor.start(droplet)
        case RequestStop(resource_id):
            hypervisor.request_stop(resource_id)
        case ForceStop(resource_id):
            hypervisor.force_stop(resource_id)
        case Remove(resource_id):
            hypervisor.remove(resource_id)
