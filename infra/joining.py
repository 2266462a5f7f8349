"""The command that makes one machine a node: everything it needs, to be pasted as it is."""

from __future__ import annotations

import shlex
from pathlib import Path

from django.conf import settings

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
STATE_DIR = "/var/lib/infra-agent"


def join_command(token: str) -> str:
    """Return the lines to run as root on the machine: trust us, enrol, run."""
    environment = settings.ENVIRONMENT
    url = f"https://{environment.edge_address}:{environment.enrol_port}"
    authority = f"{STATE_DIR}/authority.pem"
    words = ["infra-agent", "enrol", "--state-dir", STATE_DIR, "--url", url, "--ca", authority]
    return "\n".join(
        [
            *_warning(environment.edge_address),
            f"install -d -m 0700 {STATE_DIR}",
            f"cat > {authority} <<'END'",
            _authority(environment.authority / "ca.pem"),
            "END",
            shlex.join([*words, "--token", token]),
            f"infra-agent run --state-dir {STATE_DIR} --driver libvirt",
        ]
    )


def _warning(edge_address: str) -> list[str]:
    """Return a comment when only this machine could reach the address that agents dial."""
    if edge_address not in LOOPBACK:
        return []
    return [
        f"# Only this machine reaches {edge_address}. For another, start the control plane with",
        "# INFRA_EDGE_ADDRESS and INFRA_EDGE_BIND set to an address the new machine can dial.",
    ]


def _authority(path: Path) -> str:
    """Return the installation's root certificate, or say where to put it in."""
    if path.exists():
        return path.read_text().strip()
    return f"(put in the certificate that the control plane keeps in {path})"
