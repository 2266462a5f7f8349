"""`infra delete`, `wait`, `cancel`, `retry`: about how things end."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from infra.cli import clock
from infra.cli.asking import confirm_name
from infra.cli.changes import changes_of
from infra.cli.conditions import Condition, find_condition
from infra.cli.documents import Document, text
from infra.cli.failures import ExitCode, Failure
from infra.cli.kinds import BY_NAME, Kind, find_kind
from infra.cli.manner import DEFAULT_TIMEOUT, Manner, changing
from infra.cli.operations import progress_of, timed_out
from infra.cli.options import KindArgument, NameArgument, OperationArgument, TimeoutOption
from infra.cli.session import Session, session_of
from infra.cli.writing import Change, carry_out, object_path, send, tell

OPERATION = BY_NAME["operation"]


@changing
def delete(
    context: typer.Context,
    kind: KindArgument,
    name: NameArgument,
    *,
    confirmed: Annotated[
        str, typer.Option("--yes-delete", metavar="NAME", help="The name again, to ask nothing.")
    ] = "",
    manner: Manner,
) -> None:
    """Declare an object gone. Asks for its name again."""
    session = session_of(context)
    chosen = find_kind(kind)
    with session.api() as api:
        document = api.get(object_path(chosen, name)).document
        exact = text(document, "name") or name
        if not manner.dry_run:
            loss = f"{chosen.name.capitalize()} {exact} will be deleted, with all that is on it."
            confirm_name(session.output, exact, confirmed, loss=loss, option="--yes-delete")
        path = object_path(chosen, text(document, "id") or name)
        operation = send(api, Change("DELETE", path, {"confirm_name": exact}), manner)
        tell(session, api, chosen, operation, manner)


@changing
def cancel(context: typer.Context, operation: OperationArgument, *, manner: Manner) -> None:
    """Cancel an operation of which nothing was sent yet; the declaration before comes back."""
    change = Change("POST", object_path(OPERATION, operation, "cancel"), {})
    carry_out(session_of(context), OPERATION, change, replace(manner, ending="cancelled"))


@changing
def retry(context: typer.Context, operation: OperationArgument, *, manner: Manner) -> None:
    """Open an operation that failed again."""
    change = Change("POST", object_path(OPERATION, operation, "retry"), {})
    carry_out(session_of(context), OPERATION, change, manner)


def wait(
    context: typer.Context,
    kind: KindArgument,
    name: NameArgument,
    *,
    condition: Annotated[
        str, typer.Option("--for", metavar="CONDITION", help="A state, deleted, or FIELD=VALUE.")
    ] = "",
    timeout: TimeoutOption = DEFAULT_TIMEOUT,
) -> None:
    """Wait until an object is as said; exit code 5 when the time is over first."""
    session = session_of(context)
    chosen = find_kind(kind)
    wanted = find_condition(chosen.name, condition)
    wait_for(session, chosen, name, wanted, timeout=timeout)
    session.output.say(f"{chosen.name.capitalize()} {name} is {wanted.words}.")


def wait_for(session: Session, kind: Kind, name: str, wanted: Condition, *, timeout: float) -> None:
    """Return when the condition is met. Raises Failure when it cannot be met, or in `timeout` s."""
    ends = clock.elapsed() + timeout
    with session.api() as api:

        def look(key: str) -> Document | None:
            try:
                return api.get(object_path(kind, key)).document
            except Failure as failure:
                if failure.code == ExitCode.NOT_FOUND:
                    return None
                raise

        document = look(name)
        if wanted.is_met(document):
            return
        if document is None:
            raise Failure(ExitCode.NOT_FOUND, f"There is no {kind.name} {name!r}.")
        key = text(document, "id") or name  # it may be renamed meanwhile
        with (
            changes_of(api, session.output.say, kind.topics) as changes,
            session.output.progress() as show,
        ):
            while not wanted.is_met(document):
                show(_standing(kind, name, document, wanted))
                if not wanted.can_still_be(document):
                    raise _never(kind, name, document, wanted)
                left = ends - clock.elapsed()
                if left <= 0:
                    raise _too_late(kind, name, document, wanted, timeout)
                changes.wait(most=left)
                document = look(key)


def _standing(kind: Kind, name: str, document: Document | None, wanted: Condition) -> str:
    if kind is OPERATION and document is not None:
        return progress_of(document)
    state = text(document, "state") or text(document, "lifecycle") or "there"
    why = text(document, "why")
    return f"{kind.name} {name} is {state}, not yet {wanted.words}" + (f": {why}" if why else "")


def _never(kind: Kind, name: str, document: Document | None, wanted: Condition) -> Failure:
    return Failure(
        ExitCode.ERROR,
        f"{_standing(kind, name, document, wanted).rstrip('.')}, and will not become "
        f"{wanted.words}.",
        advice=f"See why with: infra describe {kind.name} {name}",
    )


def _too_late(
    kind: Kind, name: str, document: Document | None, wanted: Condition, timeout: float
) -> Failure:
    if kind is OPERATION and document is not None:
        return timed_out(document, timeout)
    return Failure(
        ExitCode.UNCERTAIN,
        f"{_standing(kind, name, document, wanted).rstrip('.')}, after {timeout:g} s.",
        safe="Nothing was changed by waiting.",
        advice=f"See why with: infra describe {kind.name} {name}",
    )
