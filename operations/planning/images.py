"""Steps of an image's operations. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from operations.planning.steps import StepKind


class ImageOperation(StrEnum):
    """What can be asked of an image."""

    CREATE = "image.create"
    CHANGE = "image.change"
    DELETE = "image.delete"


STEPS: Mapping[ImageOperation, tuple[StepKind, ...]] = MappingProxyType(
    {
        ImageOperation.CREATE: (StepKind.VERIFY,),
        ImageOperation.CHANGE: (),
        ImageOperation.DELETE: (StepKind.FORGET,),
    }
)
