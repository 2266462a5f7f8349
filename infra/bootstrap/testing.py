"""`./manage.py test [WORDS]`: the same set-up, with servers that are thrown away afterwards.

All words but `--no-install` and `--only-set-up` (install, run nothing) go to pytest.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from infra.bootstrap.hypervisor import ensure_hypervisor
from infra.bootstrap.installation import Installation, find_installation, settings_of
from infra.bootstrap.places import CHECKOUT, ensure_places
from infra.bootstrap.progress import Progress
from infra.bootstrap.starting import Start
from infra.bootstrap.supervisor import Supervisor
from infra.bootstrap.systempackages import PRODUCT, TESTS, ensure_packages
from infra.bootstrap.virtualenv import ensure_virtualenv


def test(options: argparse.Namespace, words: Sequence[str]) -> int:
    """Set up, run pytest with the words given, and return its exit code."""
    progress = Progress()
    may_install = not options.no_install
    ensure_packages((*PRODUCT, *TESTS), may_install=may_install, progress=progress)
    python = ensure_virtualenv(tests=True, progress=progress)
    ensure_hypervisor(progress)
    if options.only_set_up:
        return 0
    # Short, as Unix sockets lie below it; open, as PostgreSQL's own user passes through.
    with tempfile.TemporaryDirectory(prefix="infra-test-") as folder:
        found = find_installation(Path(folder))
        ensure_places(found.places)
        return _run(found, python, words, progress)


def _run(installation: Installation, python: Path, words: Sequence[str], progress: Progress) -> int:
    supervisor = Supervisor(installation.places, port=installation.ports.web, progress=progress)
    with supervisor.watching():
        Start(installation, supervisor, progress).servers(throw_away=True)
        environment = {**os.environ, **settings_of(installation)}
        command = [str(python), "-m", "pytest", *words]
        return supervisor.run(command, env=environment, cwd=CHECKOUT)
