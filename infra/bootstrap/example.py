"""The example of the first run: the docs' manifest, with an image built here."""

from __future__ import annotations

from infra.bootstrap.installation import Installation
from infra.bootstrap.progress import Progress
from infra.bootstrap.supervisor import Supervisor


def show_example(supervisor: Supervisor, installation: Installation, progress: Progress) -> None:
    """Declare the example and wait until its guest runs."""
    progress.say(f"Example: {installation.url} {supervisor}")
