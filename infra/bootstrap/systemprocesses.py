"""Reads other processes from /proc. A process is a number and a start time: numbers come back."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")

MARK = "INFRA_SUPERVISED_FROM"
"""The variable in the environment of every child; its value is the installation's data folder."""

NEVER_OURS = ("libvirtd", "virtlogd", "virtlockd", "virtqemud", "qemu-system-")
"""What keeps and runs guests goes on whatever happens here, even when it inherited our mark."""


@dataclass(frozen=True)
class SystemProcess:
    """One process of this machine, told apart from a later one with the same number."""

    pid: int
    start_ticks: int


def find_process(pid: int) -> SystemProcess | None:
    """Return the process with this number, or None when there is none or only its remains."""
    try:
        text = (PROC / str(pid) / "stat").read_text()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    # The name in parentheses may itself hold spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else SystemProcess(pid, int(fields[19]))


def is_alive(process: SystemProcess) -> bool:
    """Return whether it is this very process that still runs."""
    return find_process(process.pid) == process


def program_name(pid: int) -> str:
    """Return the short name the kernel keeps; empty when the process is gone."""
    try:
        return (PROC / str(pid) / "comm").read_text().strip()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def send(process: SystemProcess, number: signal.Signals) -> None:
    """Send the signal unless the process is gone already."""
    if is_alive(process):
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return


def find_marked(data: Path) -> list[SystemProcess]:
    """Return the processes that a supervisor of this data folder started, or their children."""
    wanted = f"{MARK}={data}".encode()
    found = []
    for folder in PROC.iterdir():
        if not folder.name.isdigit() or int(folder.name) == os.getpid():
            continue
        try:
            marked = wanted in (folder / "environ").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
        process = find_process(int(folder.name)) if marked else None
        if process and not program_name(process.pid).startswith(NEVER_OURS):
            found.append(process)
    return found
