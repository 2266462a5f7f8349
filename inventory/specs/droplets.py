"""The declared document of a droplet. Pure."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field, field_validator

from inventory.errors import Invalid
from inventory.specs.base import Reference, Spec, Text, check_labels

MAX_USER_DATA_BYTES = 65536
"""cloud-init reads more, but a seed this size still fits the smallest seed disk."""


class AffinityScope(StrEnum):
    """The unit within which droplets are to be together or apart."""

    NODE = "node"
    ZONE = "zone"


class AffinityMode(StrEnum):
    """Beside the droplets that carry the labels, or never beside them."""

    TOGETHER = "together"
    APART = "apart"


class AffinityRule(Spec):
    """Where to stand in relation to the same owner's droplets that carry all of `labels`."""

    mode: AffinityMode
    scope: AffinityScope = AffinityScope.NODE
    labels: dict[str, str] = Field(min_length=1)

    @field_validator("labels")
    @classmethod
    def _labels(cls, labels: dict[str, str]) -> dict[str, str]:
        try:
            return check_labels(dict(labels))
        except Invalid as error:
            raise ValueError(str(error)) from None


class StopSpec(Spec):
    """How the guest is stopped: asked, then cut off after `grace_seconds` only if `force`."""

    grace_seconds: int = Field(default=60, ge=0, le=3600)
    force: bool = False


class DropletSpec(Spec):
    """Compute to be had: vCPUs, memory in MiB, root disk in GiB, and the image it starts from."""

    image: Reference
    vcpus: int = Field(default=1, ge=1, le=512)
    memory_mib: int = Field(default=512, ge=16, le=16 * 1024 * 1024)
    disk_gib: int = Field(default=1, ge=1, le=65536)
    power: str = Field(default="running", pattern="^(running|stopped)$")
    stop: StopSpec = StopSpec()
    ssh_keys: tuple[Reference, ...] = Field(default=(), max_length=32)
    user_data: Text = ""
    affinity: tuple[AffinityRule, ...] = Field(default=(), max_length=8)

    @field_validator("user_data")
    @classmethod
    def _user_data_fits(cls, user_data: str) -> str:
        if len(user_data.encode()) > MAX_USER_DATA_BYTES:
            raise ValueError(f"user data has at most {MAX_USER_DATA_BYTES} bytes")
        return user_data
