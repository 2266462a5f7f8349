"""Changing part of a declaration: what is left out stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inventory.access import access_resource
from inventory.models import Kind, Resource
from inventory.specs.base import check_labels, parse_spec
from operations.intents.call import Call, door
from operations.intents.kinds import KINDS
from operations.intents.opening import lock_for_change
from operations.intents.resources import Key, Metadata, set_labels, set_protection
from operations.models import Operation


@dataclass(frozen=True)
class Patch:
    """What is to change; None leaves it. `spec` is merged into the declared one (RFC 7396)."""

    labels: Mapping[str, str] | None = None
    protected: bool | None = None
    spec: Mapping[str, object] | None = None


def patch_resource(
    call: Call, key: Key, patch: Patch, *, kind: Kind | None = None
) -> Operation | Resource:
    """Return the operation that carries the change out, or the resource when none is needed.

    A patch that changes nothing writes nothing. Raises what the kind's own intents raise.
    """
    labels = check_labels(patch.labels) if patch.labels is not None else None
    with door(call):
        found = access_resource(call.actor, key, kind=kind)
        resource = lock_for_change(call, found, "change")
        document = merged(resource.spec, patch.spec or {})
        intents = KINDS[Kind(resource.kind)]
        spec = parse_spec(intents.spec, document).model_dump(mode="json")
        if spec != resource.spec:
            metadata = Metadata(
                name=resource.name,
                labels=resource.labels if labels is None else labels,
                protected=resource.protected if patch.protected is None else patch.protected,
            )
            return intents.redeclare(call, resource.pk, metadata, document)
        return _mark(call, resource, labels, protected=patch.protected)


def _mark(
    call: Call, resource: Resource, labels: dict[str, str] | None, *, protected: bool | None
) -> Resource:
    """Change what moves nothing on a node."""
    once = Call(call.actor, call.now, call.reason, call.request_id)  # the revision was checked
    changed = resource
    if labels is not None and labels != resource.labels:
        changed = set_labels(once, resource.pk, labels)
    if protected is not None and protected != resource.protected:
        changed = set_protection(once, resource.pk, protected=protected)
    return changed


def merged(document: object, patch: object) -> object:
    """Return the document with the patch merged in, as RFC 7396 has it. Pure."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(document) if isinstance(document, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result
