"""Where an installation keeps its things, and who may pass through to them."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from infra.bootstrap.refusals import CannotContinue

CHECKOUT = Path(__file__).resolve().parents[2]
VENV = CHECKOUT / ".venv"

SOCKET_PATH_LIMIT = 107
"""Bytes in the path of a Unix socket, set by the kernel."""

LONGEST_SOCKET = "run/postgres/.s.PGSQL.5432.lock"


@dataclass(frozen=True)
class Places:
    """The folders and files of one installation."""

    data: Path

    @property
    def run(self) -> Path:
        return self.data / "run"

    @property
    def log(self) -> Path:
        return self.data / "log"

    @property
    def cluster(self) -> Path:
        return self.data / "pg"

    @property
    def postgres_sockets(self) -> Path:
        return self.run / "postgres"

    @property
    def redis(self) -> Path:
        return self.data / "redis"

    @property
    def redis_socket(self) -> Path:
        return self.redis / "redis.sock"

    @property
    def node(self) -> Path:
        return self.data / "node"

    @property
    def authority(self) -> Path:
        return self.data / "ca"

    @property
    def images(self) -> Path:
        return self.data / "images"

    @property
    def unseen_password(self) -> Path:
        """Kept from when it is made until it was shown, which a failed start may put off."""
        return self.data / "secrets" / "unseen_password"

    @property
    def lock(self) -> Path:
        return self.run / "supervisor.lock"

    @property
    def record(self) -> Path:
        return self.run / "supervisor.json"

    @property
    def choices(self) -> Path:
        return self.data / "installation.json"


def closed_ancestor(path: Path) -> Path | None:
    """Return the first folder on the way to `path` that other users cannot pass, or None."""
    for folder in reversed([path, *path.parents]):
        try:
            mode = folder.stat().st_mode
        except FileNotFoundError:
            return None
        if not mode & 0o001:
            return folder
    return None


def default_data_dir(checkout: Path = CHECKOUT, *, is_root: bool) -> Path:
    """Return `.infra` in the checkout, or a folder in /var/lib that PostgreSQL's user can reach."""
    if is_root and closed_ancestor(checkout) is not None:
        digest = hashlib.sha256(str(checkout).encode()).hexdigest()[:8]
        return Path("/var/lib/infra") / digest
    return checkout / ".infra"


def check_data_dir(data: Path, *, is_root: bool) -> None:
    """Raise CannotContinue when sockets or the users of PostgreSQL and QEMU cannot live there."""
    longest = data / LONGEST_SOCKET
    if len(os.fsencode(longest)) > SOCKET_PATH_LIMIT:
        raise CannotContinue(
            f"The data folder's path is too long for Unix sockets: {data}\n"
            "Choose a shorter one with --data-dir."
        )
    closed = closed_ancestor(data.parent) if is_root else None
    if closed is not None:
        raise CannotContinue(
            f"Other users cannot pass through {closed}, and PostgreSQL and QEMU run as users of "
            "their own.\nChoose another folder with --data-dir, or open this one: "
            f"chmod o+x {closed}"
        )


def ensure_places(places: Places) -> None:
    """Make the folders. Others may pass through to what is theirs, and list nothing."""
    for folder, mode in (
        (places.data, 0o711),
        (places.run, 0o711),
        (places.log, 0o700),
        (places.data / "static", 0o755),
    ):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(mode)
