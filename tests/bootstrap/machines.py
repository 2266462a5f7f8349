"""An installation that a test drives as a person would."""

import os
import subprocess
import sys
from pathlib import Path

from infra.bootstrap.places import CHECKOUT, Places
from infra.bootstrap.ports import Ports, is_free
from infra.bootstrap.readiness import answers_health
from tests.waiting import wait_until

UP_SECONDS = 400


def free_ports(*, above: int) -> int:
    """Return the first of three free ports in a row."""
    bases = range(above, above + 900, 3)
    return next(b for b in bases if all(is_free(port) for _, port in Ports(b).named()))


class Machine:
    """One installation, driven through ./manage.py only."""

    def __init__(self, data: Path, port: int) -> None:
        self.places, self.port = Places(data), port
        self.guests: list[str] = []

    def manage(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("INFRA_")}
        return subprocess.run(
            [sys.executable, str(CHECKOUT / "manage.py"), *words, "--data-dir", self.places.data],
            capture_output=True,
            text=True,
            env=environment,
            timeout=UP_SECONDS,
            check=False,
        )

    def up(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self.manage("up", "--bare", "--detach", "--port", str(self.port), *words)

    def wait_until_well(self) -> None:
        """Return when the installation says it can work; a busy machine may need a while."""
        wait_until(lambda: answers_health(self.port), seconds=90, what="a ready answer")
