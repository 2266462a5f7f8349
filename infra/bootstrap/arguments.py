"""The words `./manage.py` understands before anything is installed."""

from __future__ import annotations

import argparse
from pathlib import Path

from infra.bootstrap.ports import LAST_BASE

OWN_COMMANDS = ("up", "down", "status", "test")

EPILOG = "Every other command goes to Django: ./manage.py migrate, ./manage.py help, ..."


def port_number(text: str) -> int:
    """Return the first of three ports in a row; argparse turns ValueError into a usage error."""
    port = int(text)
    if not 1 <= port <= LAST_BASE:
        raise argparse.ArgumentTypeError(f"must be between 1 and {LAST_BASE}")
    return port


def folder(text: str) -> Path:
    """Return the folder a person typed, whatever the working folder is later."""
    return Path(text).expanduser().absolute()


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the commands that need no dependency."""
    parser = argparse.ArgumentParser(prog="manage.py", description=__doc__, epilog=EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    _add_up(commands.add_parser("up", help="set everything up and run it"))
    _add_down(commands.add_parser("down", help="stop the control plane; guests go on"))
    status = commands.add_parser("status", help="what runs; exit code 3 when nothing does")
    _add_data_dir(status)
    test = commands.add_parser(
        "test", help="set up and run the tests; further words go to pytest", add_help=False
    )
    test.add_argument("--no-install", action="store_true")
    test.add_argument("--only-set-up", action="store_true")
    return parser


def _add_up(up: argparse.ArgumentParser) -> None:
    up.description = (
        "Installs what is missing, then runs PostgreSQL, Redis, the control plane and this "
        "machine's node agent until Ctrl-C. Guests go on when it stops."
    )
    _add_data_dir(up)
    up.add_argument(
        "--port",
        type=port_number,
        help="port of console and API; the next two serve agents (default: the one used before, "
        "else 8000)",
    )
    up.add_argument("--bare", action="store_true", help="declare nothing in an empty inventory")
    up.add_argument("--detach", action="store_true", help="return when ready and go on running")
    up.add_argument(
        "--no-install",
        action="store_true",
        help="print the system packages that are missing, and stop",
    )


def _add_down(down: argparse.ArgumentParser) -> None:
    _add_data_dir(down)
    down.add_argument("--guests", action="store_true", help="stop this installation's guests too")


def _add_data_dir(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-dir",
        type=folder,
        help="folder of the installation (default: .infra in the checkout)",
    )
