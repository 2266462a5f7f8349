"""Specs: the declared document of each kind of resource, one module per kind. Pure.

A new kind adds its module and one line to SPECS.
"""

from __future__ import annotations

from inventory.specs.base import Spec
from inventory.specs.droplets import DropletSpec
from inventory.specs.images import ImageSpec
from inventory.specs.sshkeys import SshKeySpec

SPECS: dict[str, type[Spec]] = {
    "droplet": DropletSpec,
    "image": ImageSpec,
    "sshkey": SshKeySpec,
}

__all__ = ["SPECS", "DropletSpec", "ImageSpec", "Spec", "SshKeySpec"]
