"""`infra get`, `describe`, `events`: commands that change nothing."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from infra.cli import clock
from infra.cli.describing import describe_lines
from infra.cli.documents import Document, text
from infra.cli.failures import ExitCode, Failure, usage
from infra.cli.kinds import find_kind
from infra.cli.options import (
    FormatOption,
    KindArgument,
    LabelsOption,
    NameArgument,
    OwnerOption,
    ZoneOption,
)
from infra.cli.printing import Format, print_list, print_object
from infra.cli.session import session_of
from infra.cli.streams import StreamLost
from infra.cli.watching import watch
from infra.cli.words import plain
from infra.cli.writing import object_path

DEFAULT_LIMIT = 500
"""More than anybody reads on a screen; the person is told when there is more."""

MOST_PER_PAGE = 100


def get(  # noqa: PLR0913  one parameter for each option
    context: typer.Context,
    kind: KindArgument,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these.")
    ] = None,
    form: FormatOption = Format.TABLE,
    *,
    follow: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on showing what changes, until Ctrl-C.")
    ] = False,
    labels: LabelsOption = None,
    owner: OwnerOption = "",
    zone: ZoneOption = "",
    state: Annotated[
        str,
        typer.Option(
            "--state", metavar="STATE", help="Only in this state, such as running or open."
        ),
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", min=1, metavar="COUNT", help="At most so many.")
    ] = DEFAULT_LIMIT,
    everything: Annotated[bool, typer.Option("--all", help="All of them, however many.")] = False,
) -> None:
    """List what there is of a kind, or show some of it by name."""
    session = session_of(context)
    chosen = find_kind(kind)
    query = query_of(labels, owner=owner, zone=zone, **{chosen.state: state})
    most = None if everything else limit
    if names and query:
        raise usage("Names and filters do not go together.")
    with session.api() as api:

        def look() -> list[Document]:
            if names:
                return [api.get(object_path(chosen, name)).document for name in names]
            asked = {**query, "limit": str(min(most or MOST_PER_PAGE, MOST_PER_PAGE))}
            return list(api.pages(chosen.path, asked, limit=most and most + 1))

        if follow:
            watch(api, session.output, chosen, look, form)
        found = look()
        if names and len(names) == 1:
            print_object(session.output, chosen, found[0], form, now=clock.now())
            return
        shown = found if most is None or names else found[:most]
        print_list(session.output, chosen, shown, form, now=clock.now())
        if len(shown) < len(found):
            session.output.say(f"There are more than {most}; see them with --all or --limit.")


def query_of(labels: list[str] | None, **filters: str) -> dict[str, str]:
    """Return the filters as the API takes them: those that say something. Pure."""
    query = {**filters, "label": ",".join(labels or ())}
    return {key: value for key, value in query.items() if value}


def describe(
    context: typer.Context,
    kind: KindArgument,
    name: NameArgument,
    form: FormatOption = Format.TABLE,
) -> None:
    """Tell all about one object; of an operation, in words what is known and what is safe."""
    session = session_of(context)
    chosen = find_kind(kind)
    with session.api() as api:
        document = api.get(object_path(chosen, name)).document
        if form != Format.TABLE:
            print_object(session.output, chosen, document, form, now=clock.now())
            return
        for line in describe_lines(chosen, document, now=clock.now()):
            session.output.data(line)


def events(
    context: typer.Context,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C, also after a loss.")
    ] = False,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="Only these; repeatable.")
    ] = None,
    after: Annotated[
        str, typer.Option("--after", metavar="EVENT", help="Begin after this event's id.")
    ] = "",
    form: FormatOption = Format.TABLE,
) -> None:
    """Write changes as they happen, one line each."""
    session = session_of(context)
    place = after
    with session.api() as api:
        while True:
            try:
                with api.events(topics or (), after=place) as told:
                    for event in told:
                        place = event.id or place
                        if event.document:
                            session.output.data(event_line(event.id, event.document, form))
            except StreamLost as error:
                if not follow:
                    raise Failure(
                        ExitCode.ERROR,
                        f"The event stream was lost: {error}",
                        advice="Go on with: infra events --follow",
                    ) from error
                session.output.say(f"The event stream was lost ({error}); opening it again.")
                clock.pause(1)


def event_line(number: str, document: Document, form: Format) -> str:
    """Return one event as a line. Pure."""
    if form in {Format.JSON, Format.YAML}:
        return json.dumps({"id": number, **document}, ensure_ascii=False)
    parts = (text(document, "at"), text(document, "topic"), text(document, "action"))
    about = text(document, "name") or text(document, "object_id")
    return plain("  ".join([*parts, about]))
