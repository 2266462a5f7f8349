"""Starts everything in order under one supervisor, and keeps it running."""

from __future__ import annotations

import os
from collections.abc import Callable

from infra.bootstrap.example import Example
from infra.bootstrap.installation import Installation
from infra.bootstrap.places import default_data_dir
from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import StopRequested
from infra.bootstrap.starting import Facts, Start
from infra.bootstrap.supervisor import Supervisor


def launch(
    installation: Installation,
    *,
    libvirt_uri: str,
    bare: bool,
    detached: bool,
    progress: Progress,
    release: Callable[[], None],
) -> int:
    """Run until asked to stop; return the exit code. `release` is called when all is ready.

    Raises CannotContinue when a part does not start; then nothing is left running but guests.
    """
    supervisor = Supervisor(installation.places, port=installation.ports.web, progress=progress)
    start = Start(installation, supervisor, progress)
    with supervisor.watching():
        try:
            start.servers()
            facts = start.declare_installation(bare=bare)
            start.control_plane()
            start.node(facts, libvirt_uri=libvirt_uri)
            start.all_ready()
            if facts.declare_example:
                Example(supervisor, installation, progress).show()
            say_ready(installation, facts, progress, detached=detached)
            release()
            supervisor.serve()
        except StopRequested:
            progress.say("Stopping the control plane; guests go on")
    progress.say("Stopped")
    return 0


def say_ready(
    installation: Installation, facts: Facts, progress: Progress, *, detached: bool
) -> None:
    """Print where it is, the first password, and what to try."""
    progress.say("Ready")
    progress.plain()
    progress.plain(f"  Console    {installation.url}")
    if facts.admin_password:
        progress.plain("  User       admin")
        progress.plain(f"  Password   {facts.admin_password}   (shown this once)")
        installation.places.unseen_password.unlink(missing_ok=True)
    progress.plain()
    for lead, command in zip(("Try", "", ""), to_try(installation, facts), strict=True):
        progress.plain(f"  {lead:10} {command}")
    progress.plain()
    ending = manage(installation, "down") if detached else "Ctrl-C"
    progress.plain(f"  {ending} stops the control plane; guests go on.")


def to_try(installation: Installation, facts: Facts) -> tuple[str, str, str]:
    """Return three commands for a person who has just seen it come up."""
    shown = ("get droplets", "describe droplet hello", "console hello")
    known = ("get droplets", "get nodes", "get operations")
    first, second, third = shown if facts.declare_example else known
    return infra(installation, first), infra(installation, second), infra(installation, third)


def is_default(installation: Installation) -> bool:
    """Return whether the commands find this installation without being told."""
    return installation.places.data == default_data_dir(is_root=os.geteuid() == 0)


def infra(installation: Installation, words: str) -> str:
    """Return a command of the `infra` program that reaches this installation."""
    told = "" if is_default(installation) else f"INFRA_DATA_DIR={installation.places.data} "
    return f"{told}.venv/bin/infra {words}"


def manage(installation: Installation, word: str) -> str:
    """Return a `./manage.py` command for this installation."""
    told = "" if is_default(installation) else f" --data-dir {installation.places.data}"
    return f"./manage.py {word}{told}"
