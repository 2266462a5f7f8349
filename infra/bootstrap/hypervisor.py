"""The machine's libvirt: whether it answers, and how it is started without an init system."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

from infra.bootstrap.progress import Progress
from infra.bootstrap.systempackages import find_program

SYSTEM = "qemu:///system"
SESSION = "qemu:///session"

ANSWER_SECONDS = 15.0
START_SECONDS = 30.0
LOOK_AGAIN_SECONDS = 0.1


def answers(uri: str, seconds: float = ANSWER_SECONDS) -> bool:
    """Return whether libvirt answers on this connection."""
    virsh = find_program("virsh")
    if virsh is None:
        return False
    try:
        done = subprocess.run(
            [str(virsh), "--quiet", "-c", uri, "uri"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def ensure_hypervisor(progress: Progress) -> str:
    """Return the connection the node agent is to use, with libvirt started if that was missing.

    Never raises: a machine without a hypervisor is still a node, and the agent says what it lacks.
    """
    is_root = os.geteuid() == 0
    with progress.step("libvirt") as outcome:
        if answers(SYSTEM):
            outcome.text = f"answers ({SYSTEM})"
            return SYSTEM
        if not is_root:
            outcome.text = f"as this user ({SESSION})"
            return SESSION
        outcome.text = f"started ({SYSTEM})" if _start() else "does not answer; no guests here"
        return SYSTEM


def _start() -> bool:
    """Start the machine's daemons; they stay when the supervisor goes, as guests need them."""
    if Path("/run/systemd/system").is_dir():
        subprocess.run(["systemctl", "start", "libvirtd"], check=False, capture_output=True)
    else:
        for name in ("virtlogd", "libvirtd"):
            program = find_program(name)
            if program is None:
                return False
            subprocess.run(
                [str(program), "-d"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                check=False,
            )
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        if answers(SYSTEM):
            return True
        signal.sigtimedwait((), LOOK_AGAIN_SECONDS)
    return False
