"""What this node can hold, and how it runs guests."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import psutil

from agent.acceleration import Acceleration, Kind, cached_probe
from agent.drivers.base import HypervisorFacts, Rejected
from agent.drivers.libvirt.storage import untraversable
from agent.drivers.libvirt.xml import Machine

EMULATOR = "qemu-system-x86_64"
TRUST_SECONDS = 600.0
MIB = 2**20
GIB = 2**30


class Node:
    """The machine this agent runs on. `separate_user`: the emulator runs as another user."""

    def __init__(self, *, storage: Path, kept: Path, separate_user: bool) -> None:
        self._storage = storage
        self._kept = kept
        self._separate_user = separate_user
        self._lock = threading.Lock()
        self._found: tuple[float, Acceleration] | None = None

    def machine(self) -> Machine:
        """Return how to run a guest. Raises `Rejected` if none can run here."""
        if problem := self.problem():
            raise Rejected("accelerator.none", problem)
        kind = self.acceleration().kind
        return Machine(_emulator() or EMULATOR, "kvm" if kind is Kind.KVM else "qemu")

    def problem(self) -> str:
        """Return why no guest can run here, in words; "" if one can."""
        if _emulator() is None:
            return f"{EMULATOR} is not installed."
        closed = list(untraversable(self._storage)) if self._separate_user else []
        if closed:
            return f"The emulator's user cannot pass through {closed[-1]} to the storage."
        found = self.acceleration()
        return found.evidence if found.kind is Kind.NONE else ""

    def acceleration(self) -> Acceleration:
        """Return the verdict of the probe, at most ten minutes old unless nothing worked."""
        with self._lock:
            now = time.monotonic()
            if self._found is not None and now - self._found[0] < TRUST_SECONDS:
                return self._found[1]
            found = cached_probe(self._kept, _emulator() or EMULATOR)
            self._found = None if found.kind is Kind.NONE else (now, found)
            return found

    def facts(self, *, version: str, problem: str, details: dict[str, str]) -> HypervisorFacts:
        """Return all facts; `problem` is what else keeps guests from running."""
        why = problem or self.problem()
        kind = "" if why else self.acceleration().kind.value
        return HypervisorFacts(
            vcpus=os.cpu_count() or 1,
            memory_mib=psutil.virtual_memory().total // MIB,
            disk_gib=shutil.disk_usage(self._storage).total // GIB,
            accelerator=kind,
            problem=why,
            version=version,
            details=details | {"acceleration": self.acceleration().evidence},
        )


def _emulator() -> str | None:
    return shutil.which(EMULATOR)
