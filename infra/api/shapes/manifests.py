"""Plans of manifests as documents."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from infra.api.shapes.base import Body, Shape
from operations.manifests.comparing import Planned


class ChangeShape(Shape):
    """One field of a document, before and after."""

    pointer: str
    before: object
    after: object


class PlannedShape(Shape):
    """What applying one document does; `index` is its place among the documents."""

    index: int
    kind: str
    name: str
    action: str
    changes: list[ChangeShape]
    warnings: list[str]


class PlanShape(Shape):
    """What applying a manifest does, document by document."""

    items: list[PlannedShape]


class ManifestsBody(Body):
    """Manifest documents: apiVersion, kind, metadata, spec.

    A plain list of them, or a YAML stream (`application/yaml`), is taken too.
    """

    manifests: list[object] = Field(min_length=1)


def show_plan(planned: Sequence[Planned]) -> PlanShape:
    """Return a plan as a document."""
    return PlanShape(
        items=[
            PlannedShape(
                index=each.index,
                kind=each.kind,
                name=each.name,
                action=each.action,
                changes=[
                    ChangeShape(pointer=change.pointer, before=change.before, after=change.after)
                    for change in each.changes
                ],
                warnings=list(each.warnings),
            )
            for each in planned
        ]
    )
