"""`./manage.py status`: what runs, read from files and from the machine itself."""

from __future__ import annotations

import argparse
import time

from infra.bootstrap.guests import running_guests
from infra.bootstrap.installation import find_installation
from infra.bootstrap.places import Places
from infra.bootstrap.readiness import answers_health
from infra.bootstrap.record import ProcessRecord, is_held, read_choices, read_record
from infra.bootstrap.systemprocesses import SystemProcess, is_alive

NOT_RUNNING = 3


def status(options: argparse.Namespace) -> int:
    """Print what runs; return 0 when the installation is up, else 3."""
    places = find_installation(options.data_dir).places
    record = read_record(places) if is_held(places) else None
    if record is None:
        print(f"Not up: {places.data}")
    else:
        state = "up" if record.ready else "starting"
        print(f"Infra is {state}: http://127.0.0.1:{record.port}/ from {places.data}")
        well = answers_health(record.port)
        print(f"Health: {'well' if well else 'does not answer'}; supervisor is {record.pid}")
        for line in process_lines(record.processes, now=time.time()):
            print(line)
    print(f"Logs: {places.log}")
    _print_guests(places)
    return NOT_RUNNING if record is None else 0


def process_lines(processes: tuple[ProcessRecord, ...], *, now: float) -> list[str]:
    """Return a table of the processes."""
    lines = [f"  {'PROCESS':12} {'PID':>8}  {'STATE':10} {'FOR':>8}  RESTARTS"]
    for process in processes:
        alive = process.pid and is_alive(SystemProcess(process.pid, process.start_ticks))
        state = "running" if alive else "restarting"
        age = duration(now - process.started) if alive else "-"
        lines.append(
            f"  {process.name:12} {process.pid or '-':>8}  {state:10} {age:>8}  {process.restarts}"
        )
    return lines


def duration(seconds: float) -> str:
    """Return a length of time in its largest whole unit (pure)."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def _print_guests(places: Places) -> None:
    choices = read_choices(places)
    if choices.libvirt_uri:
        names = [guest.name for guest in running_guests(choices)]
        print(f"Guests on this machine: {', '.join(names) or 'none runs'}")
