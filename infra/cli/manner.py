"""How a change is made, and the options with which every changing command lets one say so."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, get_type_hints

import typer

from infra.cli.printing import Format

DEFAULT_TIMEOUT = 300.0
"""Seconds: a guest boots and an image downloads well within; whoever needs more says so."""

Command = Callable[..., None]


@dataclass(frozen=True)
class Manner:
    """Tried or meant, why, waited for up to `timeout` seconds or not, and told how.

    `ending` is the state in which its operation is to end.
    """

    dry_run: bool = False
    wait: bool = True
    timeout: float = DEFAULT_TIMEOUT
    form: Format = Format.TABLE
    reason: str = ""
    ending: str = "succeeded"

    @property
    def query(self) -> dict[str, str]:
        query = {"dry_run": "true"} if self.dry_run else {}
        return {**query, "reason": self.reason} if self.reason else query


def _manner(
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check everything on the server, change nothing.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait until its operation has ended.")
    ] = True,
    timeout: Annotated[
        float,
        typer.Option("--timeout", min=0, metavar="SECONDS", help="Wait no longer; exit code 5."),
    ] = DEFAULT_TIMEOUT,
    form: Annotated[Format, typer.Option("--output", "-o", help="How to write it.")] = Format.TABLE,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; kept with the operation.")
    ] = "",
) -> Manner:
    """Return the manner; its parameters are the options."""
    return Manner(dry_run, wait, timeout, form, reason)


def changing(command: Command) -> Command:
    """Return the command with the shared options; it gets them as one `manner`."""
    manner_of: Callable[..., Manner] = _manner
    own = inspect.signature(command, eval_str=True)
    shared = inspect.signature(_manner, eval_str=True)
    parameters = [
        *(parameter for name, parameter in own.parameters.items() if name != "manner"),
        *shared.parameters.values(),
    ]

    def run(**values: object) -> None:
        told = {name: values.pop(name) for name in shared.parameters}
        command(manner=manner_of(**told), **values)

    hints = {**get_type_hints(command, include_extras=True),
             **get_type_hints(_manner, include_extras=True), "return": None}  # fmt: skip
    hints.pop("manner")
    run.__name__, run.__doc__, run.__annotations__ = command.__name__, command.__doc__, hints
    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run
