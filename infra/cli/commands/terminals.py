"""`infra console`: a droplet's serial console in this terminal."""

from __future__ import annotations

import typer

from infra.cli.documents import text
from infra.cli.kinds import BY_NAME
from infra.cli.options import DropletArgument
from infra.cli.session import session_of
from infra.cli.writing import object_path


def console(context: typer.Context, droplet: DropletArgument) -> None:
    """Open a droplet's serial console. Leave with Ctrl-] or with ~. at the beginning of a line.

    One person at a time holds a console: opening it takes it over. Input that is no terminal is
    passed on as it is; its end does not end the console.
    """
    session = session_of(context)
    target = session.target()
    with session.api(target) as api:
        document = api.get(object_path(BY_NAME["droplet"], droplet)).document
    from infra.cli.consoles import run_console  # noqa: PLC0415  nothing else needs WebSockets

    run_console(target, text(document, "id"), say=session.output.say)
