"""`./manage.py down`: stops the control plane, and guests when asked to."""

from __future__ import annotations

import argparse
import signal
import time

from infra.bootstrap.guests import stop_guests
from infra.bootstrap.installation import find_installation
from infra.bootstrap.leftovers import end_leftovers, find_leftovers
from infra.bootstrap.places import Places
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import is_held, read_choices, read_record
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.systemprocesses import SystemProcess, find_process, send

STOP_SECONDS = 150.0
LOOK_AGAIN_SECONDS = 0.05


def down(options: argparse.Namespace) -> int:
    """Stop what runs; return 0, also when nothing ran. Raises CannotContinue."""
    progress = Progress()
    places = find_installation(options.data_dir).places
    if is_held(places):
        with progress.step(f"The control plane from {places.data}") as outcome:
            stop_supervisor(places)
            outcome.text = "stopped"
    else:
        progress.say(f"Nothing is up from {places.data}")
    leftovers = find_leftovers(places)
    if leftovers:
        with progress.step("What an earlier run left") as outcome:
            end_leftovers(leftovers)
            outcome.text = "stopped"
    if options.guests:
        stop_guests(read_choices(places), progress)
    return 0


def stop_supervisor(places: Places) -> None:
    """Ask the supervisor to stop, and return when it has. Raises CannotContinue."""
    supervisor = supervisor_process(places)
    if supervisor is None:
        raise CannotContinue(f"A supervisor is starting from {places.data}; try again in a moment.")
    send(supervisor, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while is_held(places):
        if time.monotonic() > deadline:
            raise CannotContinue(f"Process {supervisor.pid} did not stop; see {places.log}.")
        signal.sigtimedwait((), LOOK_AGAIN_SECONDS)


def supervisor_process(places: Places) -> SystemProcess | None:
    """Return the process that the record names, if it is there."""
    record = read_record(places)
    return find_process(record.pid) if record else None
