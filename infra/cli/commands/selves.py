"""`infra version`, `infra completion`: about the command itself."""

from __future__ import annotations

from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from infra.cli.documents import text
from infra.cli.failures import Failure
from infra.cli.session import session_of

PROGRAM = "infra"


class Shell(StrEnum):
    """Shells that completion is written for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Write the completion script of a shell, to be read at its start.

    For bash: infra completion bash > ~/.local/share/bash-completion/completions/infra
    """
    from typer._completion_shared import (  # noqa: PLC0415  typer has no public door to it
        get_completion_script,
    )

    script = get_completion_script(
        prog_name=PROGRAM, complete_var=f"_{PROGRAM.upper()}_COMPLETE", shell=shell.value
    )
    typer.echo(script)


def own_version() -> str:
    """Return the version of this command."""
    try:
        return version(PROGRAM)
    except PackageNotFoundError:
        return "unpackaged"


def show_version(
    context: typer.Context,
    *,
    client: Annotated[bool, typer.Option("--client", help="Ask no server.")] = False,
) -> None:
    """Write the version of this command and of the server."""
    session = session_of(context)
    session.output.data(f"infra {own_version()}")
    if client:
        return
    with session.api() as api:
        try:
            document = api.get("version").document
        except Failure as failure:
            session.output.say(f"The server's version is not known: {failure}")
            return
        session.output.data(f"server {text(document, 'version')} at {api.target.url}")
