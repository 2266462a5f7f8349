"""One installation as its processes see it: places, ports, database, queue."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap import postgres, redisserver
from infra.bootstrap.places import Places, default_data_dir
from infra.bootstrap.ports import DEFAULT_PORT, Ports
from infra.bootstrap.record import Choices, read_choices
from infra.bootstrap.systemprocesses import MARK


@dataclass(frozen=True)
class Installation:
    """What belongs together. An empty URL means the private server of the installation."""

    places: Places
    ports: Ports
    database_url: str = ""
    redis_url: str = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports.web}/"


def choose_data_dir(asked: Path | None, environment: Mapping[str, str]) -> Path:
    """Return the data folder: as asked, as the environment says, or the checkout's own."""
    told = environment.get("INFRA_DATA_DIR", "")
    if asked is None and told:
        asked = Path(told).expanduser()
    return (asked or default_data_dir(is_root=os.geteuid() == 0)).resolve()


def choose_ports(asked: int | None, environment: Mapping[str, str], choices: Choices) -> Ports:
    """Return the ports: as asked, as the environment says, as used before, or the default."""
    told = environment.get("INFRA_PORT", "")
    return Ports(asked or (int(told) if told.isdigit() else None) or choices.port or DEFAULT_PORT)


def find_installation(
    data_dir: Path | None = None,
    port: int | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Installation:
    """Return the installation a person means, whether or not it was ever up."""
    places = Places(choose_data_dir(data_dir, environment))
    return Installation(
        places=places,
        ports=choose_ports(port, environment, read_choices(places)),
        database_url=environment.get("INFRA_DATABASE_URL", ""),
        redis_url=environment.get("INFRA_REDIS_URL", ""),
    )


def settings_of(installation: Installation) -> dict[str, str]:
    """Return the variables that tell Django and the agent edge about the installation (pure)."""
    places, ports = installation.places, installation.ports
    return {
        "INFRA_DATA_DIR": str(places.data),
        "INFRA_DATABASE_URL": installation.database_url or postgres.database_url(places),
        "INFRA_REDIS_URL": installation.redis_url or redisserver.redis_url(places),
        "INFRA_PORT": str(ports.web),
        "INFRA_EDGE_PORT": str(ports.edge),
        "INFRA_ENROL_PORT": str(ports.enrol),
        "DJANGO_SETTINGS_MODULE": "infra.settings",
    }


def child_environment(
    installation: Installation, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the environment of every process the supervisor starts."""
    return {
        **environment,
        **settings_of(installation),
        MARK: str(installation.places.data),
        "PYTHONUNBUFFERED": "1",
    }
