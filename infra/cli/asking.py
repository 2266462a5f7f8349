"""Questions to the person, and what stands in for the answers in scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.cli.failures import ExitCode, Failure, usage

if TYPE_CHECKING:
    from infra.cli.output import Output


def confirm_name(output: Output, name: str, confirmed: str, *, loss: str, option: str) -> None:
    """Return when the name was repeated, on the command line or now. Raises Failure."""
    if confirmed == name:
        return
    if confirmed:
        raise usage(f"{option} says {confirmed!r}, but it is {name!r} that was named.")
    if not output.asks:
        raise usage(loss, advice=f"Repeat the name to mean it: {option} {name}")
    output.say(loss)
    if output.ask(f"Repeat the name to go on ({name}): ") != name:
        raise Failure(ExitCode.ERROR, "That is another name.", safe="Nothing was changed.")
