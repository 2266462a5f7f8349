"""Where `./manage.py` goes: to the start-up here, or to Django in the virtual environment."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from infra.bootstrap.arguments import OWN_COMMANDS, make_parser
from infra.bootstrap.installation import find_installation, settings_of
from infra.bootstrap.places import CHECKOUT
from infra.bootstrap.progress import Progress
from infra.bootstrap.refusals import CannotContinue, StopRequested
from infra.bootstrap.systempackages import PRODUCT, ensure_packages
from infra.bootstrap.virtualenv import ensure_virtualenv, is_current, venv_python

STOPPED_BY_CTRL_C = 130


def main(words: Sequence[str]) -> int:
    """Run one command and return its exit code: 0 well, 1 error, 2 usage, 3 not running."""
    try:
        if not words or words[0] in (*OWN_COMMANDS, "-h", "--help"):
            return own_command(words)
        return django_command(words)
    except CannotContinue as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, StopRequested):
        print("\nStopped.", file=sys.stderr)
        return STOPPED_BY_CTRL_C


def own_command(words: Sequence[str]) -> int:
    """Run a command of the start-up."""
    parser = make_parser()
    if words and words[0] == "test":
        from infra.bootstrap.testing import test  # noqa: PLC0415 - each command loads its own part

        options, rest = parser.parse_known_args(words)
        return test(options, rest)
    options = parser.parse_args(words)
    if options.command == "up":
        from infra.bootstrap.up import up  # noqa: PLC0415

        return up(options)
    if options.command == "down":
        from infra.bootstrap.down import down  # noqa: PLC0415

        return down(options)
    from infra.bootstrap.status import status  # noqa: PLC0415

    return status(options)


def django_command(words: Sequence[str]) -> int:
    """Hand the command to Django, in the environment made for it."""
    known = settings_of(find_installation())
    environment = {**known, **os.environ}
    if has_dependencies():
        os.environ.update(environment)
        from django.core.management import execute_from_command_line  # noqa: PLC0415

        execute_from_command_line(["manage.py", *words])
        return 0
    if not is_current():
        progress = Progress(sys.stderr)
        ensure_packages(PRODUCT, may_install=False, progress=progress)
        ensure_virtualenv(tests=False, progress=progress)
    python = venv_python()
    command = [str(python), str(CHECKOUT / "manage.py"), *words]
    return os.execve(python, command, environment)  # noqa: S606 - becomes the other Python


def has_dependencies() -> bool:
    """Return whether this Python is of a virtual environment that has Django."""
    in_venv = Path(sys.prefix) != Path(sys.base_prefix)
    return in_venv and importlib.util.find_spec("django") is not None
