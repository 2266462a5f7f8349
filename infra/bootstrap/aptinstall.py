"""Installs Debian packages as root, and keeps the servers among them from starting.

Run as a program of its own, so that `sudo` covers this and nothing else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

POLICY = Path("/usr/sbin/policy-rc.d")

POLICY_TEXT = """#!/bin/sh
# Written by Infra while it installs packages: it runs PostgreSQL and Redis of its own.
case "$1" in postgresql*|redis*) exit 101 ;; esac
exit 0
"""

OWN_SERVERS = {"postgresql": "postgresql.service", "redis-server": "redis-server.service"}
"""Units that come with these packages and are not wanted at the next start of the machine."""


@contextmanager
def servers_stay_off() -> Iterator[None]:
    """Keep PostgreSQL and Redis from starting meanwhile; an existing policy is left alone."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text(POLICY_TEXT)
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)


def apt(*words: str) -> None:
    """Run apt-get without questions. Raises subprocess.CalledProcessError."""
    options = ("-q", "-y", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0")
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}
    subprocess.run(["apt-get", *options, *words], env=environment, check=True)


def main(names: list[str]) -> int:
    """Update the lists, install, and return apt's verdict."""
    try:
        with servers_stay_off():
            apt("update")
            apt("install", "--no-install-recommends", *names)
    except subprocess.CalledProcessError as error:
        return error.returncode or 1
    units = [unit for package, unit in OWN_SERVERS.items() if package in names]
    if units and Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "disable", "--quiet", *units], check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
