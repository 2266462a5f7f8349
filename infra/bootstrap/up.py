"""`./manage.py up`: from whatever is there to a running installation."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from infra.bootstrap.detaching import run_in_background
from infra.bootstrap.hypervisor import ensure_hypervisor
from infra.bootstrap.installation import Installation, find_installation
from infra.bootstrap.launch import launch
from infra.bootstrap.leftovers import end_leftovers, find_leftovers
from infra.bootstrap.places import check_data_dir, ensure_places
from infra.bootstrap.ports import check_ports
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import AlreadyUp, held, is_held, read_record
from infra.bootstrap.systempackages import PRODUCT, ensure_packages
from infra.bootstrap.virtualenv import ensure_virtualenv


def up(options: argparse.Namespace) -> int:
    """Set up and run; return the exit code. Raises CannotContinue."""
    progress = Progress()
    installation = find_installation(options.data_dir, options.port)
    places = installation.places
    check_data_dir(places.data, is_root=os.geteuid() == 0)
    progress.say(f"Infra from {places.data}")
    if is_held(places):
        return already_up(installation, progress)
    ensure_packages(PRODUCT, may_install=not options.no_install, progress=progress)
    ensure_places(places)
    try:
        with held(places):
            make_room(installation, progress)
            ensure_virtualenv(tests=False, progress=progress)
            uri = ensure_hypervisor(progress)

            def work(release: Callable[[], None]) -> int:
                return launch(
                    installation,
                    libvirt_uri=uri,
                    bare=options.bare,
                    detached=options.detach,
                    progress=progress,
                    release=release,
                )

            if options.detach:
                return run_in_background(work, places.log / "supervisor.log")
            return work(lambda: None)
    except AlreadyUp:
        return already_up(installation, progress)


def already_up(installation: Installation, progress: Progress) -> int:
    """Say that it runs, and where; that is what was asked for."""
    record = read_record(installation.places)
    where = f"http://127.0.0.1:{record.port}/" if record else installation.url
    state = "Already up" if record is not None and record.ready else "Already starting"
    progress.say(f"{state}: {where} (stop it with ./manage.py down)")
    return 0


def make_room(installation: Installation, progress: Progress) -> None:
    """End what a killed supervisor left, then check the ports. Raises CannotContinue."""
    leftovers = find_leftovers(installation.places)
    if leftovers:
        count = len(leftovers.database) + len(leftovers.others)
        with progress.step(f"Ending {count} processes that an earlier run left"):
            end_leftovers(leftovers)
    check_ports(installation.ports)
