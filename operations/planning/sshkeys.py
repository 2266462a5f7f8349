"""Steps of an SSH key's operations: none on any node. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from operations.planning.steps import StepKind


class SshKeyOperation(StrEnum):
    """What can be asked of an SSH key."""

    CREATE = "sshkey.create"
    CHANGE = "sshkey.change"
    DELETE = "sshkey.delete"


STEPS: Mapping[SshKeyOperation, tuple[StepKind, ...]] = MappingProxyType(
    {
        SshKeyOperation.CREATE: (),
        SshKeyOperation.CHANGE: (),
        SshKeyOperation.DELETE: (StepKind.FORGET,),
    }
)
