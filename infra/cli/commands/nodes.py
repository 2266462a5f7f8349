"""`infra node`: let a machine in, empty it, let it go."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli import clock
from infra.cli.documents import Document, text
from infra.cli.kinds import BY_NAME
from infra.cli.manner import Manner, changing
from infra.cli.options import LabelsOption, NewNameArgument, NodeArgument
from infra.cli.printing import Format, print_object
from infra.cli.session import session_of
from infra.cli.writing import Change, carry_out, object_path, parse_labels, send

app = typer.Typer(help="Let machines in, empty them, let them go.", no_args_is_help=True)
NODE = BY_NAME["node"]


@app.command("add")
@changing
def add(
    context: typer.Context,
    name: NewNameArgument,
    zone: Annotated[str, typer.Option("--zone", metavar="ZONE", help="Where it stands.")],
    *,
    labels: LabelsOption = None,
    manner: Manner,
) -> None:
    """Declare a node, and print the command that lets one machine become it."""
    session = session_of(context)
    body = {"name": name, "zone": zone, "labels": parse_labels(labels)}
    with session.api() as api:
        document = send(api, Change("POST", NODE.path, body), manner)
        if manner.dry_run:
            session.output.say("A dry run: everything was checked, nothing was changed.")
            return
        session.output.say(f"Node {name} is declared; it joins with the command below.")
        path = object_path(NODE, text(document, "id") or name, "token")
        _tell_token(context, send(api, Change("POST", path, {}), manner), manner.form)


@app.command("token")
@changing
def token(context: typer.Context, node: NodeArgument, *, manner: Manner) -> None:
    """Make a new one-time token for a node and print the join command; earlier ones end."""
    with session_of(context).api() as api:
        path = object_path(NODE, node, "token")
        _tell_token(context, send(api, Change("POST", path, {}), manner), manner.form)


@app.command("drain")
@changing
def drain(context: typer.Context, node: NodeArgument, *, manner: Manner) -> None:
    """Place nothing new on a node; it is drained when nothing is left on it."""
    _move(context, node, "drain", manner)


@app.command("resume")
@changing
def resume(context: typer.Context, node: NodeArgument, *, manner: Manner) -> None:
    """Place new work on a node again."""
    _move(context, node, "resume", manner)


@app.command("leave")
@changing
def leave(context: typer.Context, node: NodeArgument, *, manner: Manner) -> None:
    """Let a drained node go for good; its certificates end."""
    _move(context, node, "leave", manner)


def _move(context: typer.Context, node: str, event: str, manner: Manner) -> None:
    change = Change("POST", object_path(NODE, node, event), {})
    carry_out(session_of(context), NODE, change, manner)


def _tell_token(context: typer.Context, document: Document, form: Format) -> None:
    output = session_of(context).output
    if form in {Format.JSON, Format.YAML}:
        print_object(output, NODE, document, form, now=clock.now())
        return
    output.data(text(document, "command") or text(document, "token"))
    output.say(
        f"The token is shown only now, works once, and ends at {text(document, 'expires_at')}."
    )
