"""A small supervisor program for tests: run with a data folder and the words of a child."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from infra.bootstrap.children import ProcessSpec
from infra.bootstrap.places import Places, ensure_places
from infra.bootstrap.progress import Progress
from infra.bootstrap.record import held
from infra.bootstrap.refusals import StopRequested
from infra.bootstrap.supervisor import Supervisor
from infra.bootstrap.systemprocesses import MARK


def main(data: str, *argv: str) -> None:
    """Keep the child running until a signal."""
    places = Places(Path(data))
    ensure_places(places)
    supervisor = Supervisor(places, port=1, progress=Progress())
    spec = ProcessSpec(
        name="child",
        title="Child",
        argv=argv,
        env={**os.environ, MARK: data},
        cwd=places.data,
        log=places.log / "child.log",
        stop_seconds=5,
    )
    with held(places), supervisor.watching():
        try:
            supervisor.wait_ready(supervisor.start(spec))
            supervisor.serve()
        except StopRequested as request:
            sys.stdout.write(f"stopped by {request}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
