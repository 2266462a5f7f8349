"""Changes as commands make them: sent, then followed, then told."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from infra.cli import clock
from infra.cli.documents import Document, text
from infra.cli.failures import usage
from infra.cli.kinds import BY_NAME, Kind, kind_of
from infra.cli.manner import Manner
from infra.cli.operations import (
    check_ended_well,
    follow,
    is_finished,
    operation_path,
    progress_of,
)
from infra.cli.printing import Format, print_object
from infra.cli.session import Session

if TYPE_CHECKING:
    from infra.cli.api import Api

OPERATION = BY_NAME["operation"]


@dataclass(frozen=True)
class Change:
    """What is sent."""

    method: str
    path: str
    body: object = None
    if_match: str = ""


def object_path(kind: Kind, key: str, *more: str) -> str:
    """Return the address of an object, whatever characters its name has."""
    return "/".join([kind.path, *(quote(part, safe="") for part in (key, *more))])


def carry_out(session: Session, kind: Kind, change: Change, manner: Manner) -> None:
    """Send the change, follow its operation and write what came of it. Raises Failure."""
    with session.api() as api:
        tell(session, api, kind, send(api, change, manner), manner)


def send(api: Api, change: Change, manner: Manner) -> Document:
    """Send the change; return its operation, or the object where there is none. Raises Failure."""
    answer = api.write(
        change.method, change.path, change.body, query=manner.query, if_match=change.if_match
    )
    path = operation_path(answer)
    if path and not manner.dry_run and "steps" not in answer.document:
        return api.get(path).document
    return answer.document


def tell(session: Session, api: Api, kind: Kind, document: Document, manner: Manner) -> None:
    """Write what a change led to; follow it first when it is an operation that is to be waited for.

    Raises Failure when the operation did not succeed.
    """
    output = session.output
    if manner.dry_run:
        output.say("A dry run: everything was checked, nothing was changed.")
    if not is_operation(document):
        if document:
            print_object(output, shown_kind(kind, document), document, manner.form, now=clock.now())
        else:
            output.say("Done.")
        return
    if manner.wait and not manner.dry_run:
        path = object_path(OPERATION, text(document, "id"))
        document = follow(api, output, path, timeout=manner.timeout)
    if manner.form == Format.TABLE:
        output.data(f"{progress_of(document)}.")
    else:
        print_object(output, OPERATION, document, manner.form, now=clock.now())
    if manner.wait and is_finished(document):
        check_ended_well(document, manner.ending)


def is_operation(document: Document) -> bool:
    """Return whether the document is an operation, and not an object that was changed at once."""
    return "steps" in document and "state" in document


def shown_kind(kind: Kind, document: Document) -> Kind:
    """Return the kind the document says it is of, where the list is of several."""
    return BY_NAME.get(kind_of(document), kind)


def parse_labels(words: Iterable[str] | None) -> dict[str, str]:
    """Return labels from `key=value` words. Raises Failure."""
    found: dict[str, str] = {}
    for word in words or ():
        key, equals, value = word.partition("=")
        if not key or not equals:
            raise usage(f"{word!r} is no label.", advice="A label reads KEY=VALUE.")
        found[key] = value
    return found
