"""What this node is, as its agent tells the control plane."""

from __future__ import annotations

import platform

import psutil

from agent import clock
from agent.drivers.base import DriverError, Hypervisor, HypervisorFacts
from agent.protocol.observations import NodeFacts
from agent.wording import clean

VERSION = "0.1.0"
"""As pyproject.toml says it, which is not there on a node."""

MIB = 1024 * 1024


def gather_facts(hypervisor: Hypervisor, *, address: str) -> NodeFacts:
    """Return what the node can hold and do now; a hypervisor that is away offers nothing."""
    try:
        offered = hypervisor.facts()
    except DriverError as error:
        problem = clean(str(error))
        offered = HypervisorFacts(
            vcpus=0, memory_mib=0, disk_gib=0, accelerator="", problem=problem, version="",
            details={},
        )  # fmt: skip
    able = bool(offered.accelerator)
    return NodeFacts(
        agent_version=VERSION,
        address=address,
        vcpus=offered.vcpus,
        memory_mib=offered.memory_mib,
        disk_gib=offered.disk_gib,
        capabilities={"compute": offered.accelerator} if able else {},
        problems={} if able and not offered.problem else {"compute": offered.problem},
        details=_details(offered),
        clock=clock.now(),
    )


def _details(offered: HypervisorFacts) -> dict[str, str]:
    machine = {
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "system": _system(),
        "cpus": str(psutil.cpu_count() or 0),
        "memory_mib": str(psutil.virtual_memory().total // MIB),
        "hypervisor": offered.version,
    }
    return machine | offered.details


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return platform.system()
