"""Starts everything in order under one supervisor, and keeps it running."""

from __future__ import annotations

from collections.abc import Callable

from infra.bootstrap.example import Example
from infra.bootstrap.installation import Installation
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
            start.node(facts.node_token, libvirt_uri=libvirt_uri)
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
    progress.plain("  Try        .venv/bin/infra get droplets")
    progress.plain("             .venv/bin/infra console hello")
    progress.plain("             ./manage.py status")
    progress.plain()
    ending = "./manage.py down" if detached else "Ctrl-C"
    progress.plain(f"  {ending} stops the control plane; guests go on.")
