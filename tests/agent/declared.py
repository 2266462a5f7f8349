"""Declarations and observations as tests write them, and a node of pure values to act upon."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from agent.actions import (
    Action,
    CreateDisk,
    Define,
    FetchImage,
    ForceStop,
    GrowDisk,
    Remove,
    RequestStop,
    Start,
)
from agent.observed import Absent, Observed, Present
from agent.protocol.declarations import (
    AbsentDeclaration,
    DropletDeclaration,
    ImageFormat,
    ImageReference,
    Power,
    StopPolicy,
)
from agent.protocol.observations import DropletObservation, GuestPower
from agent.protocol.values import Generation

WEB = UUID(int=1)
IMAGE = ImageReference(
    resource_id=UUID(int=77), sha256="ab" * 32, format=ImageFormat.RAW, size_bytes=1024
)


def age(counter: int, epoch: int = 1) -> Generation:
    return Generation(epoch=epoch, counter=counter)


def droplet(counter: int = 1, **changes: object) -> DropletDeclaration:
    values: dict[str, object] = {
        "resource_id": WEB,
        "generation": age(counter),
        "name": "web",
        "hostname": "web",
        "vcpus": 1,
        "memory_mib": 128,
        "disk_gib": 1,
        "image": IMAGE,
        "power": Power.RUNNING,
        "stop": StopPolicy(grace_seconds=60, force=False),
    }
    return DropletDeclaration.model_validate(values | changes)


def absent(counter: int = 2, **changes: object) -> AbsentDeclaration:
    values: dict[str, object] = {
        "resource_id": WEB,
        "generation": age(counter),
        "resource_kind": "droplet",
    }
    return AbsentDeclaration.model_validate(values | changes)


def seen(declared: DropletDeclaration, power: GuestPower | None = None) -> DropletObservation:
    on = GuestPower(declared.power.value) if power is None else power
    return DropletObservation(
        resource_id=declared.resource_id,
        generation=declared.generation,
        power=on,
        vcpus=declared.vcpus,
        memory_mib=declared.memory_mib,
        disk_gib=declared.disk_gib,
        restarts=declared.restarts if on in {GuestPower.RUNNING, GuestPower.PAUSED} else None,
        rebuilds=declared.rebuilds,
    )


def present(declared: DropletDeclaration, power: GuestPower | None = None) -> Present:
    return Present(seen(declared, power), defined=True, disk=True)


@dataclass(frozen=True)
class World:
    """One droplet's part of a node. `heeds` says whether its guest stops when it is asked."""

    observed: Observed
    image: bool = False
    asked: bool = False
    heeds: bool = True

    def after(self, action: Action) -> World:
        """Return the node after the action took full effect."""
        match action:
            case FetchImage():
                return self._with(image=True)
            case CreateDisk(wanted):
                return self._with(observed=self._disk_made(wanted))
            case GrowDisk(wanted):
                return self._changed(disk_gib=wanted.disk_gib)
            case Define(wanted):
                return self._defined(wanted)
            case Start(wanted):
                return self._changed(power=GuestPower.RUNNING, restarts=wanted.restarts)
            case RequestStop():
                return self._off() if self.heeds else self._with(asked=True)
            case ForceStop():
                return self._off()
            case Remove():
                assert isinstance(self.observed, Present)
                assert self.observed.droplet.power not in {GuestPower.RUNNING, GuestPower.PAUSED}
                return self._with(observed=Absent())

    def _disk_made(self, wanted: DropletDeclaration) -> Present:
        assert self.image, "a disk was made without its image"
        if isinstance(self.observed, Present):
            assert self.observed.droplet.power not in {GuestPower.RUNNING, GuestPower.PAUSED}
            made = {"rebuilds": wanted.rebuilds, "disk_gib": wanted.disk_gib}
            return Present(
                self.observed.droplet.model_copy(update=made), self.observed.defined, disk=True
            )
        fresh = seen(wanted, GuestPower.STOPPED).model_copy(update={"generation": age(1)})
        return Present(fresh, defined=False, disk=True)

    def _defined(self, wanted: DropletDeclaration) -> World:
        assert isinstance(self.observed, Present)
        assert self.observed.disk
        made: dict[str, object] = {"generation": wanted.generation}
        if self.observed.droplet.power not in {GuestPower.RUNNING, GuestPower.PAUSED}:
            made |= {"vcpus": wanted.vcpus, "memory_mib": wanted.memory_mib}
        droplet_now = self.observed.droplet.model_copy(update=made)
        return self._with(observed=Present(droplet_now, defined=True, disk=True))

    def _changed(self, **changes: object) -> World:
        assert isinstance(self.observed, Present)
        now = self.observed.droplet.model_copy(update=changes)
        return self._with(observed=Present(now, self.observed.defined, self.observed.disk))

    def _off(self) -> World:
        return self._changed(power=GuestPower.STOPPED, restarts=None)

    def _with(self, **changes: object) -> World:
        values = {name: getattr(self, name) for name in ("observed", "image", "asked", "heeds")}
        return World(**(values | changes))
