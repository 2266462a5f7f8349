"""Steps the control plane carries out itself, in the transaction that records them.

Each answers in one of three ways: done with evidence, refused with a code, or waiting with a
reason. Nothing is in flight between asking and answering, so none is ever unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.conf import settings

from inventory.models import Dependency, Image, Kind, Resource
from operations.journal import Because
from operations.models import Operation, Step
from operations.outbox import publish
from operations.planning.steps import StepKind
from operations.reservations import Raced, Reserved, active_placement, release, reserve
from operations.scheduling.values import NoRoom


@dataclass(frozen=True)
class Done:
    """It is so, and this is what that rests on."""

    because: Because


@dataclass(frozen=True)
class Refused:
    """It cannot be, and this is why."""

    because: Because


@dataclass(frozen=True)
class Waiting:
    """Not now; `code` and `detail` are for programs, `text` for people, the wait in seconds."""

    code: str
    text: str
    seconds: float
    detail: dict[str, object] = field(default_factory=dict)


Answer = Done | Refused | Waiting
LocalStep = Callable[[Operation, Step, Resource, datetime], Answer]

ROOM_WAIT_SECONDS = 20.0
"""Room that appears wakes the waiting operations at once; this only covers a lost wake-up."""


def _reserve(operation: Operation, step: Step, resource: Resource, now: datetime) -> Answer:
    del step
    answer = reserve(operation, resource, now=now)
    if isinstance(answer, Raced):
        return Waiting("raced", f"{answer.tries} nodes were claimed by others first.", 1.0)
    if isinstance(answer, NoRoom):
        detail: dict[str, object] = {
            reason.value: count for reason, count in answer.refused.items()
        }
        return Waiting(
            "no_room",
            str(answer),
            ROOM_WAIT_SECONDS,
            {"refused": detail, "considered": answer.considered},
        )
    return Done(_reserved(answer))


def _reserved(answer: Reserved) -> Because:
    node = answer.placement.node
    text = f"Placed on node {node.name}." if answer.changed else f"Stands on node {node.name}."
    return Because(
        text,
        {"placement": str(answer.placement.pk), "node": node.name}
        | {"explanation": answer.placement.explanation},
    )


def _release(operation: Operation, step: Step, resource: Resource, now: datetime) -> Answer:
    del step
    placement = release(resource, now=now)
    _bury(operation, resource, now)
    if placement is None:
        return Done(Because("It held no room on any node.", {"placement": None}))
    return Done(Because("Its room on the node is free again.", {"placement": str(placement.pk)}))


def _forget(operation: Operation, step: Step, resource: Resource, now: datetime) -> Answer:
    del step
    _bury(operation, resource, now)
    return Done(Because("Nothing depended on it any more."))


def _bury(operation: Operation, resource: Resource, now: datetime) -> None:
    resource.deleted_at = now
    resource.updated_at = now
    resource.revision += 1
    resource.save(update_fields=["deleted_at", "updated_at", "revision"])
    Dependency.objects.filter(dependent=resource).delete()
    publish(
        "resource",
        "deleted",
        resource.pk,
        now=now,
        owner_id=resource.owner_id,
        operation_id=operation.pk,
        data={"kind": resource.kind},
    )


def _verify(operation: Operation, step: Step, resource: Resource, now: datetime) -> Answer:
    """Check that the store holds the bytes; those behind a URL are verified by each node."""
    del operation, step, now
    image = Image.objects.get(resource=resource)
    if image.url:
        return Done(Because("Each node verifies size and SHA-256 when it fetches the image."))
    path: Path = settings.ENVIRONMENT.images / image.sha256
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return Waiting(
            "image_bytes",
            f"The store has no image with SHA-256 {image.sha256[:12]}… yet. Upload it with "
            "`infra image upload`.",
            5.0,
        )
    if size != image.size_bytes:
        return Refused(
            Because(
                f"The store's image has {size} bytes, but {image.size_bytes} were declared. "
                "Nothing was changed; delete this image and declare the right size.",
                {"size_bytes": size},
                "image.size",
            )
        )
    return Done(Because("The store holds the image, verified when it was stored.", {"size": size}))


LOCAL_STEPS: Mapping[StepKind, LocalStep] = {
    StepKind.RESERVE: _reserve,
    StepKind.RELEASE: _release,
    StepKind.FORGET: _forget,
    StepKind.VERIFY: _verify,
}


def skip_apply(operation: Operation, resource: Resource) -> Because | None:
    """Return why a droplet's `apply` needs no node at all, or None when it does.

    A droplet to be deleted that was never placed is absent everywhere.
    """
    del operation
    if resource.kind == Kind.DROPLET and resource.absent and active_placement(resource.pk) is None:
        return Because("It was never placed on a node, so there is nothing to remove.")
    return None
