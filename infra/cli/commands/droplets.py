"""What can be done to a droplet that exists: start, stop, reboot, resize, rename, rebuild."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.asking import confirm_name
from infra.cli.documents import Document
from infra.cli.failures import usage
from infra.cli.kinds import BY_NAME
from infra.cli.manner import Manner, changing
from infra.cli.options import DropletArgument
from infra.cli.session import session_of
from infra.cli.sizes import sizes_body
from infra.cli.writing import Change, carry_out, object_path

DROPLET = BY_NAME["droplet"]

ForceOption = Annotated[
    bool, typer.Option("--force", help="Cut it off if it has not stopped in time.")
]
GraceOption = Annotated[
    int | None,
    typer.Option("--grace", min=0, max=3600, metavar="SECONDS", help="How long it may take."),
]


@changing
def start(context: typer.Context, droplet: DropletArgument, *, manner: Manner) -> None:
    """Declare a droplet running."""
    _act(context, droplet, "start", {}, manner)


@changing
def stop(
    context: typer.Context,
    droplet: DropletArgument,
    *,
    force: ForceOption = False,
    grace: GraceOption = None,
    manner: Manner,
) -> None:
    """Declare a droplet stopped: its guest is asked to, and cut off only with --force."""
    _act(context, droplet, "stop", stop_body(force=force, grace=grace), manner)


@changing
def reboot(
    context: typer.Context,
    droplet: DropletArgument,
    *,
    force: ForceOption = False,
    grace: GraceOption = None,
    manner: Manner,
) -> None:
    """Stop a droplet's guest and start it again."""
    _act(context, droplet, "reboot", stop_body(force=force, grace=grace), manner)


@changing
def resize(
    context: typer.Context,
    droplet: DropletArgument,
    *,
    vcpus: Annotated[int | None, typer.Option("--vcpus", min=1, metavar="COUNT")] = None,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Such as 512M or 2G.")
    ] = "",
    disk: Annotated[
        str, typer.Option("--disk", metavar="SIZE", help="Such as 10G; it only grows.")
    ] = "",
    manner: Manner,
) -> None:
    """Give a droplet other sizes; what is not named stays as it is."""
    body = sizes_body(vcpus, memory, disk)
    if not body:
        raise usage("No size was named.", advice="Name one of --vcpus, --memory and --disk.")
    _act(context, droplet, "resize", body, manner)


@changing
def rename(
    context: typer.Context,
    droplet: DropletArgument,
    name: Annotated[str, typer.Argument(metavar="NEW-NAME")],
    *,
    manner: Manner,
) -> None:
    """Give a droplet another name; its guest keeps running."""
    _act(context, droplet, "rename", {"name": name}, manner)


@changing
def rebuild(
    context: typer.Context,
    droplet: DropletArgument,
    *,
    image: Annotated[
        str, typer.Option("--image", metavar="IMAGE", help="From this one; else as before.")
    ] = "",
    confirmed: Annotated[
        str, typer.Option("--yes-rebuild", metavar="NAME", help="The name again, to ask nothing.")
    ] = "",
    manner: Manner,
) -> None:
    """Throw a droplet's disk away and make it anew from its image. Asks for the name again."""
    if not manner.dry_run:
        loss = f"Everything on the disk of droplet {droplet} will be lost."
        confirm_name(
            session_of(context).output, droplet, confirmed, loss=loss, option="--yes-rebuild"
        )
    _act(context, droplet, "rebuild", {"image": image} if image else {}, manner)


def stop_body(*, force: bool, grace: int | None) -> Document:
    """Return how to stop as the API takes it; empty leaves it as declared. Pure."""
    if not force and grace is None:
        return {}
    return {"stop": {"force": force, **({} if grace is None else {"grace_seconds": grace})}}


def _act(context: typer.Context, droplet: str, action: str, body: Document, manner: Manner) -> None:
    change = Change("POST", object_path(DROPLET, droplet, action), body)
    carry_out(session_of(context), DROPLET, change, manner)
