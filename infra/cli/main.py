"""The command tree, and how every command ends."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer
from typer.core import TyperGroup

from infra.cli.commands import (
    applying,
    creating,
    droplets,
    ending,
    images,
    installations,
    marking,
    nodes,
    reading,
    selves,
    terminals,
)
from infra.cli.failures import ExitCode, Failure
from infra.cli.session import Session, session_of
from infra.cli.target import Flags

BROKEN_PIPE = 128 + signal.SIGPIPE
"""What a shell reports for a program whose reader has gone."""

READING, CHANGING, DROPLETS = "Look", "Change", "Droplets"
ENDING, INSTALLATION = "Operations", "This command"


class Root(TyperGroup):
    """The root command: turns every bad end into words and an exit code."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        try:
            return super().invoke(ctx)
        except Failure as failure:
            session_of(ctx).output.fail(failure)
            raise typer.Exit(failure.code) from None
        except KeyboardInterrupt:
            session_of(ctx).output.say("\nStopped; whatever was declared goes on without you.")
            raise typer.Exit(ExitCode.STOPPED) from None
        except BrokenPipeError:
            _forget_stdout()
            raise typer.Exit(BROKEN_PIPE) from None


app = typer.Typer(
    cls=Root,
    name="infra",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root(
    context: typer.Context,
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="The installation; else INFRA_URL.")
    ] = "",
    token: Annotated[
        str, typer.Option("--token", metavar="TOKEN", help="Who you are; else INFRA_TOKEN.")
    ] = "",
    named: Annotated[
        str, typer.Option("--context", metavar="NAME", help="An installation kept under a name.")
    ] = "",
    key: Annotated[
        str,
        typer.Option(
            "--idempotency-key",
            metavar="KEY",
            help="Repeat an earlier change under its key: done already, it is not done again.",
        ),
    ] = "",
) -> None:
    """Nodes, zones, resources: see what there is, and declare what there should be.

    Exit codes: 0 well, 1 error, 2 usage, 3 not found, 4 conflict, 5 timed out or not known.
    Data goes to standard output, everything else to standard error.
    """
    context.obj = Session(Flags(url, token, named), key)


COMMANDS: Mapping[str, Mapping[str, Callable[..., None]]] = {
    READING: {
        "get": reading.get,
        "describe": reading.describe,
        "events": reading.events,
    },
    CHANGING: {
        "apply": applying.apply,
        "diff": applying.diff,
        "plan": applying.plan,
        "delete": ending.delete,
        "label": marking.label,
        "protect": marking.protect,
        "unprotect": marking.unprotect,
    },
    DROPLETS: {
        "console": terminals.console,
        "start": droplets.start,
        "stop": droplets.stop,
        "reboot": droplets.reboot,
        "resize": droplets.resize,
        "rename": droplets.rename,
        "rebuild": droplets.rebuild,
    },
    ENDING: {"wait": ending.wait, "cancel": ending.cancel, "retry": ending.retry},
    INSTALLATION: {
        "login": installations.login,
        "version": selves.show_version,
        "completion": selves.completion,
    },
}

for group, commands in COMMANDS.items():
    for word, command in commands.items():
        app.command(word, rich_help_panel=group)(command)

app.add_typer(creating.app, name="create", rich_help_panel=CHANGING)
app.add_typer(nodes.app, name="node", rich_help_panel=CHANGING)
app.add_typer(images.app, name="image", rich_help_panel=CHANGING)
app.add_typer(installations.app, name="context", rich_help_panel=INSTALLATION)


def run() -> NoReturn:
    """Run the command line and end the process with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a name must never end the command
    try:
        app()
    finally:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
    raise AssertionError  # typer ends the process itself


def _forget_stdout() -> None:
    """Point standard output nowhere, so that the last flush of Python says nothing."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    run()
