"""Arguments and options that several commands share, so that they read the same everywhere."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.kinds import KINDS
from infra.cli.printing import Format


def _complete_kind(incomplete: str) -> list[str]:
    return [name for kind in KINDS for name in kind.names if name.startswith(incomplete)]


KindArgument = Annotated[
    str,
    typer.Argument(
        metavar="KIND",
        help=f"One of {', '.join(kind.plural for kind in KINDS)}.",
        autocompletion=_complete_kind,
    ),
]
NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="Its name, number or id.")]
NewNameArgument = Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")]
DropletArgument = Annotated[
    str, typer.Argument(metavar="DROPLET", help="The droplet's name, number or id.")
]
OperationArgument = Annotated[
    str, typer.Argument(metavar="OPERATION", help="The operation's number or id.")
]
NodeArgument = Annotated[str, typer.Argument(metavar="NODE", help="The node's name or id.")]

FormatOption = Annotated[Format, typer.Option("--output", "-o", help="How to write it.")]
TimeoutOption = Annotated[
    float,
    typer.Option("--timeout", min=0, metavar="SECONDS", help="Wait no longer; exit code 5."),
]
OwnerOption = Annotated[str, typer.Option("--owner", metavar="OWNER", help="The owner's name.")]
ZoneOption = Annotated[str, typer.Option("--zone", metavar="ZONE", help="The zone's name.")]
LabelsOption = Annotated[
    list[str] | None,
    typer.Option("--label", "-l", metavar="KEY=VALUE", help="A label; may be repeated."),
]
FilesOption = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="FILE", help="A file, a folder, or - for the input."),
]
