"""A private PostgreSQL cluster: one folder, one Unix socket, nobody else's."""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.children import ProcessSpec, group_ids, open_signals, own_folder
from infra.bootstrap.places import Places
from infra.bootstrap.refusals import CannotContinue
from infra.bootstrap.systempackages import find_program

SYSTEM_USER = "postgres"
"""The server refuses to run as root; then it runs as the user that Debian's package makes."""

ROLE = "infra"
PORT = 5432

DURABLE = {"synchronous_commit": "on"}
THROW_AWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}

SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "512MB",
    "logging_collector": "off",
    "log_destination": "stderr",
    "log_line_prefix": "%m ",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
}

ACCESS = """# Written at every start: only who owns this installation gets in, told by the kernel.
local all all peer map=infra
"""

DATABASE_MADE = """
SELECT 'CREATE ROLE infra LOGIN'
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'infra')\\gexec
SELECT 'CREATE DATABASE infra OWNER infra'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'infra')\\gexec
"""
TESTS_MADE = "ALTER ROLE infra CREATEDB;\n"


@dataclass(frozen=True)
class Cluster:
    """A cluster of one installation and the programs of its version."""

    places: Places
    programs: Path
    throw_away: bool = False

    @property
    def user(self) -> str | None:
        """The user it runs as; None for the one who runs this."""
        return SYSTEM_USER if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        return database_url(self.places)


def database_url(places: Places) -> str:
    """Return the URL of the private cluster's database."""
    return f"postgresql://{ROLE}@/{ROLE}?host={places.postgres_sockets}&port={PORT}"


def find_programs(cluster: Path, root: Path = Path("/usr/lib/postgresql")) -> Path:
    """Return the folder of the server programs: of the cluster's version, else the newest.

    Raises CannotContinue when that version is not on this machine.
    """
    versions = {path.parents[1].name: path.parent for path in root.glob("*/bin/initdb")}
    version_file = cluster / "PG_VERSION"
    if version_file.exists():
        version = version_file.read_text().strip()
        if version in versions:
            return versions[version]
        elsewhere = find_program("initdb")
        if not versions and elsewhere:
            return elsewhere.resolve().parent
        raise CannotContinue(
            f"The data in {cluster} is of PostgreSQL {version}, which is not installed here "
            f"(found: {', '.join(sorted(versions)) or 'none'}). "
            f"Install postgresql-{version}, or move the data with pg_upgrade."
        )
    if versions:
        return versions[max(versions, key=lambda name: [int(n) for n in name.split(".")])]
    elsewhere = find_program("initdb")
    if elsewhere is None:
        raise CannotContinue("PostgreSQL's server programs were not found.")
    return elsewhere.resolve().parent


def prepare(cluster: Cluster) -> bool:
    """Make the cluster if there is none, and write who may connect. Return whether it is new."""
    places = cluster.places
    own_folder(places.postgres_sockets, cluster.user)
    is_new = not (places.cluster / "PG_VERSION").exists()
    if is_new:
        # Made aside and renamed whole: a crash on the way leaves nothing that looks like data.
        draft = places.cluster.with_name("pg.new")
        shutil.rmtree(draft, ignore_errors=True)
        own_folder(draft, cluster.user)
        words = ["--encoding=UTF8", "--locale=C.UTF-8", "--auth=peer", "--data-checksums"]
        sync = ["--no-sync"] if cluster.throw_away else []
        _run(cluster, [str(cluster.programs / "initdb"), *words, *sync, "-D", str(draft)])
        draft.rename(places.cluster)
    _write_access(cluster)
    return is_new


def _write_access(cluster: Cluster) -> None:
    me = getpass.getuser() if cluster.user is None else "root"
    owner = cluster.user or me
    names = f"infra {me} {ROLE}\ninfra {owner} {owner}\n"
    for name, text in (("pg_hba.conf", ACCESS), ("pg_ident.conf", names)):
        path = cluster.places.cluster / name
        path.write_text(text)
        if cluster.user:
            shutil.chown(path, cluster.user)


def server_settings(cluster: Cluster) -> dict[str, str]:
    """Return the settings the server is started with (pure)."""
    sockets = {"unix_socket_directories": str(cluster.places.postgres_sockets)}
    return {**SETTINGS, **sockets, **(THROW_AWAY if cluster.throw_away else DURABLE)}


def spec(cluster: Cluster) -> ProcessSpec:
    """Return how the server runs under the supervisor."""
    settings = [word for k, v in server_settings(cluster).items() for word in ("-c", f"{k}={v}")]
    return ProcessSpec(
        name="postgres",
        title="PostgreSQL",
        argv=(str(cluster.programs / "postgres"), "-D", str(cluster.places.cluster), *settings),
        env=_environment(),
        cwd=cluster.places.cluster,
        log=cluster.places.log / "postgres.log",
        is_ready=lambda: answers(cluster),
        user=cluster.user,
        tier=0,
        # "Fast" shutdown: ends sessions, writes everything. Never SIGKILL: SIGQUIT at the last.
        stop_signal=signal.SIGINT,
        stop_seconds=60.0,
        last_signal=signal.SIGQUIT,
    )


def answers(cluster: Cluster) -> bool:
    """Return whether the server takes sessions."""
    command = [
        *(str(cluster.programs / "pg_isready"), "-q", "-t", "2"),
        *("-h", str(cluster.places.postgres_sockets), "-p", str(PORT)),
    ]
    return subprocess.run(command, env=_environment(), check=False).returncode == 0


def ensure_database(cluster: Cluster) -> None:
    """Make the role and its database unless they are there."""
    owner = cluster.user or getpass.getuser()
    command = [
        *(str(cluster.programs / "psql"), "-qX", "-v", "ON_ERROR_STOP=1"),
        *("-h", str(cluster.places.postgres_sockets), "-p", str(PORT), "-U", owner, "postgres"),
    ]
    _run(cluster, command, said=DATABASE_MADE + (TESTS_MADE if cluster.throw_away else ""))


def _run(cluster: Cluster, command: Sequence[str], *, said: str = "") -> None:
    group, groups = group_ids(cluster.user) if cluster.user else (None, None)
    done = subprocess.run(
        command,
        input=said,
        capture_output=True,
        text=True,
        errors="replace",
        env=_environment(),
        cwd="/",
        user=cluster.user,
        group=group,
        extra_groups=groups,
        preexec_fn=open_signals,
        check=False,
    )
    if done.returncode != 0:
        raise CannotContinue(f"{Path(command[0]).name} failed: {done.stderr.strip()[-2000:]}")


def _environment() -> dict[str, str]:
    """Return an environment in which PG* variables of the person do not count."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PG")}
    return {**kept, "LC_ALL": "C.UTF-8"}
