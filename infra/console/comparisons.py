"""Wanted beside seen, line by line, with what differs marked. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from inventory.models import Resource, ResourceObservation

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class Line:
    """One fact as declared and as seen; `differs` only where both are known."""

    name: str
    wanted: str
    seen: str
    differs: bool


def compare(resource: Resource, observation: ResourceObservation | None) -> Sequence[Line]:
    """Return the droplet's facts side by side."""
    droplet = resource.droplet
    data = observation.data if observation is not None else {}
    absent = observation is not None and observation.presence == "absent"
    wanted_power = "absent" if resource.absent else droplet.power
    seen_power = "absent" if absent else (observation.power if observation else "")
    running = seen_power == "running"
    lines = [
        _line("Power", wanted_power, seen_power),
        _line("vCPUs", str(droplet.vcpus), _seen(data, "vcpus")),
        _line("Memory, MiB", str(droplet.memory_mib), _seen(data, "memory_mib")),
        _line("Disk, GiB", str(droplet.disk_gib), _seen(data, "disk_gib")),
        _line("Image content", droplet.image.sha256[:16], _seen(data, "image_sha256")[:16]),
        _line("Rebuilds", str(droplet.rebuilds), _seen(data, "rebuilds")),
    ]
    if running:
        lines.append(_line("Restarts", str(droplet.restarts), _seen(data, "restarts")))
    wanted_generation = f"{resource.epoch}.{resource.generation}"
    lines.append(_line("Generation accepted", wanted_generation, _generation(observation)))
    return lines


def _line(name: str, wanted: str, seen: str) -> Line:
    return Line(name, wanted, seen or UNKNOWN, differs=bool(seen) and seen != wanted)


def _seen(data: dict[str, object], name: str) -> str:
    value = data.get(name)
    return "" if value is None else str(value)


def _generation(observation: ResourceObservation | None) -> str:
    if observation is None:
        return ""
    shown = (observation.epoch, observation.generation)
    accepted = max(shown, (observation.ledger_epoch, observation.ledger_generation))
    return f"{accepted[0]}.{accepted[1]}" if accepted[0] else ""
