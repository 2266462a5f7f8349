"""Planning and applying a manifest: all of it or nothing, under one operation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from django.db import transaction

from inventory.access import Actor, access_owner
from inventory.errors import Conflict, FieldError, Invalid, NotFound, RevisionMismatch
from inventory.models import Owner
from operations.audit import record_audit
from operations.intents.call import Call, door
from operations.manifests.comparing import Action, Planned
from operations.manifests.documents import Placed
from operations.manifests.kinds import KINDS, find_kind
from operations.models import Operation
from operations.parents import open_parent, sum_up_parent

APPLY = "manifest.apply"
Result = TypeVar("Result")


@dataclass(frozen=True)
class Applied:
    """What a manifest did. `operation` is None when nothing differed, so nothing was done."""

    operation: Operation | None
    planned: tuple[Planned, ...]


def plan_manifest(actor: Actor, documents: Sequence[Placed]) -> tuple[Planned, ...]:
    """Return what each document would do, in the order of the documents. Only reads.

    Raises Invalid with all that is wrong in any of them, else the first refusal.
    """
    planned = dict(_each(documents, lambda placed: find_kind(placed).plan(actor, placed)))
    return tuple(planned[placed.index] for placed in documents)


def check_manifest(call: Call, documents: Sequence[Placed]) -> tuple[Planned, ...]:
    """Return the plan after applying it for a try: whatever would be refused is refused."""
    with transaction.atomic():
        applied = apply_manifest(call, documents)
        transaction.set_rollback(True)
    return applied.planned


def apply_manifest(call: Call, documents: Sequence[Placed]) -> Applied:
    """Declare all documents that differ, in one transaction, under one operation."""
    with door(call):
        planned = plan_manifest(call.actor, documents)
        differing = {each.index: each for each in planned if each.action != Action.UNCHANGED}
        if not differing:
            return Applied(None, planned)
        parent = _open(call, documents, planned)
        ordered = in_order([placed for placed in documents if placed.index in differing])

        def apply_one(placed: Placed) -> Operation | None:
            here = differing[placed.index]
            once = replace(call, expected_revision=here.revision, dry_run=False)
            return find_kind(placed).apply(once, placed, here, parent.pk)

        list(_each(ordered, apply_one))
        sum_up_parent(parent, now=call.now)
        return Applied(parent, planned)


def in_order(documents: Sequence[Placed]) -> list[Placed]:
    """Return the documents so that what others refer to comes first. Pure.

    Within a kind the order is by name, so that two manifests lock in the same order; an object
    that stands inside another of its kind comes after it. A loop is left to the intent to refuse.
    """
    ranks = {kind: rank for rank, kind in enumerate(KINDS)}
    waiting = sorted(
        documents, key=lambda each: (ranks[each.document.kind], each.document.metadata.name)
    )
    ordered: list[Placed] = []
    while waiting:
        names = {(each.document.kind, each.document.metadata.name) for each in waiting}
        free = next((each for each in waiting if _is_free(each, names)), waiting[0])
        waiting.remove(free)
        ordered.append(free)
    return ordered


def _is_free(placed: Placed, waiting: set[tuple[str, str]]) -> bool:
    document = placed.document
    before = KINDS[document.kind].after(document)
    return before is None or (document.kind, before) not in waiting


def _open(call: Call, documents: Sequence[Placed], planned: Sequence[Planned]) -> Operation:
    owned = [placed for placed in documents if KINDS[placed.document.kind].has_owner]
    owners = {placed.document.metadata.owner for placed in owned}
    owner: Owner | None = access_owner(call.actor, owners.pop()) if len(owners) == 1 else None
    operation = open_parent(call, APPLY, owner=owner, about=f"{len(documents)} documents")
    record_audit(
        call,
        APPLY,
        kind="manifest",
        object_id=operation.pk,
        name=operation.resource_name,
        after={"documents": [f"{each.action} {each.kind} {each.name}" for each in planned]},
        operation_id=operation.pk,
    )
    return operation


def _each(
    documents: Sequence[Placed], act: Callable[[Placed], Result]
) -> Iterator[tuple[int, Result]]:
    """Yield what each document gave. Raises Invalid with the errors of all, else what came first.

    After the first error the rest is still looked at, but nothing of it will stay.
    """
    errors: list[FieldError] = []
    for placed in documents:
        try:
            with placed_errors(placed):
                yield placed.index, act(placed)
        except Invalid as error:
            errors.extend(error.errors)
    if errors:
        raise Invalid(tuple(errors))


_POINTERS = (
    ("/name", "/metadata/name"),
    ("/labels", "/metadata/labels"),
    ("/parent", "/spec/parent"),
    ("/kind_label", "/spec/kind_label"),
    ("/jurisdiction", "/spec/jurisdiction"),
)
"""Where intents say a field is, and where it is in a document."""


@contextmanager
def placed_errors(placed: Placed) -> Iterator[None]:
    """Make refusals of one document point into the list of documents."""
    try:
        yield
    except Invalid as error:
        raise Invalid(
            tuple(
                FieldError(placed.pointer + _in_document(each.pointer), each.code, each.message)
                for each in error.errors
            )
        ) from None
    except NotFound as error:
        where = "/spec/parent" if placed.document.kind == "Zone" else f"/metadata/{error.kind}"
        raise Invalid((FieldError(placed.pointer + where, "not_found", str(error)),)) from None
    except Conflict as error:
        facts = {**error.details, "document": str(placed.index)}
        raise Conflict(error.conflict, error.message, facts) from None
    except RevisionMismatch as error:
        message = f"{placed.document.metadata.name} was changed meanwhile. Nothing changed; repeat."
        facts = {"document": str(placed.index), "actual": str(error.actual)}
        raise Conflict("manifest.changed_meanwhile", message, facts) from None


def _in_document(pointer: str) -> str:
    for said, meant in _POINTERS:
        if pointer == said or pointer.startswith(f"{said}/"):
            return meant + pointer.removeprefix(said)
    return pointer
