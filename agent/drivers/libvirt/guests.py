"""Looks at guests of libvirt, one or all, and says whose they are."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

import libvirt

from agent.drivers.base import OutcomeUnknown
from agent.drivers.libvirt.connection import Turn
from agent.drivers.libvirt.errors import is_connection_lost, is_gone
from agent.drivers.libvirt.xml import Description, Mark, Owner, domain_name, read_domain
from agent.protocol.observations import GuestPower
from agent.protocol.values import Generation

LOOKS = 5
LOWEST = Generation(epoch=1, counter=1)

_POWER = {
    libvirt.VIR_DOMAIN_NOSTATE: GuestPower.RUNNING,
    libvirt.VIR_DOMAIN_RUNNING: GuestPower.RUNNING,
    libvirt.VIR_DOMAIN_BLOCKED: GuestPower.RUNNING,
    libvirt.VIR_DOMAIN_SHUTDOWN: GuestPower.RUNNING,
    libvirt.VIR_DOMAIN_PAUSED: GuestPower.PAUSED,
    libvirt.VIR_DOMAIN_PMSUSPENDED: GuestPower.PAUSED,
    libvirt.VIR_DOMAIN_SHUTOFF: GuestPower.STOPPED,
    # Held by an emulator that still has its disk: it has to be cut off before it can start.
    libvirt.VIR_DOMAIN_CRASHED: GuestPower.PAUSED,
}
_DIED = frozenset({libvirt.VIR_DOMAIN_SHUTOFF_CRASHED, libvirt.VIR_DOMAIN_SHUTOFF_FAILED})
_ON = frozenset({GuestPower.RUNNING, GuestPower.PAUSED})


@dataclass(frozen=True)
class SeenGuest:
    """One guest: `live` as it runs, or would if it ran; `kept` as it will start next.

    `kept` is None when a guest runs that has no definition any more.
    """

    name: str
    native_id: str
    power: GuestPower
    live: Description
    kept: Description | None

    @property
    def mark(self) -> Mark | None:
        """What the newest definition says."""
        return (self.kept or self.live).mark

    @property
    def generation(self) -> Generation:
        """What its definition was written under; the lowest there is when it has none."""
        return self.kept.mark.generation if self.kept and self.kept.mark else LOWEST

    @property
    def resource_id(self) -> UUID | None:
        return self.mark.resource_id if self.mark else None

    @property
    def is_on(self) -> bool:
        return self.power in _ON

    @property
    def restarts(self) -> int | None:
        """The number of restarts the running guest was started under."""
        return self.live.mark.restarts if self.is_on and self.live.mark else None

    def belongs_to(self, owner: Owner) -> bool:
        mark = self.mark
        return (
            mark is not None and mark.owner == owner and self.name == domain_name(mark.resource_id)
        )


def find_guest(connection: libvirt.virConnect, resource_id: UUID) -> libvirt.virDomain | None:
    """Return the guest with the droplet's name, whoever made it."""
    try:
        return connection.lookupByName(domain_name(resource_id))
    except libvirt.libvirtError as error:
        if is_gone(error):
            return None
        raise


def look(domain: libvirt.virDomain) -> SeenGuest | None:
    """Return the guest as it is now, None if it has gone.

    Raises `OutcomeUnknown` when its document and its state never agree, or make no sense.
    """
    try:
        for _ in range(LOOKS):
            live = read_domain(domain.XMLDesc(0))
            power = _power(*domain.state())
            # A document of an idle guest with the state of a running one: it started in between,
            # and would be taken for running with what it was not started with.
            if live.active or power not in _ON:
                kept = None
                if domain.isPersistent():
                    kept = read_domain(domain.XMLDesc(libvirt.VIR_DOMAIN_XML_INACTIVE))
                return SeenGuest(live.name, domain.UUIDString(), power, live, kept)
    except libvirt.libvirtError as error:
        if is_gone(error):
            return None
        raise
    except ValueError as error:
        raise OutcomeUnknown("libvirt.unreadable", f"{domain.name()}: {error}") from error
    raise OutcomeUnknown("libvirt.restless", f"{domain.name()} changes faster than it is read.")


def restores_otherwise(domain: libvirt.virDomain, kept: Description) -> bool:
    """Return whether a start would wake a saved memory that is not of this very definition.

    Somebody may have saved the guest by hand, and its disk may have been made anew since.
    """
    if not domain.hasManagedSaveImage(0):
        return False
    return not same_start(read_domain(domain.managedSaveGetXMLDesc(0)), kept)


def same_start(one: Description, other: Description) -> bool:
    """Return whether both documents would start the same guest on the same disk."""
    if one.mark is None or other.mark is None:
        return False
    numbers = [(each.mark.restarts, each.mark.rebuilds) for each in (one, other) if each.mark]
    sizes = [(each.vcpus, each.memory_mib) for each in (one, other)]
    return numbers[0] == numbers[1] and sizes[0] == sizes[1]


def look_at_all(turn: Turn) -> tuple[list[SeenGuest], list[str]]:
    """Return all guests, and one sentence for each that could not be read."""
    guests: list[SeenGuest] = []
    problems: list[str] = []
    for domain in turn.connection.listAllDomains(0):
        try:
            seen = look(domain)
        except OutcomeUnknown as error:
            problems.append(str(error))
        except libvirt.libvirtError as error:
            if is_connection_lost(error):
                raise
            problems.append(f"{domain.name()}: {error.get_error_message()}")
        else:
            guests += [seen] if seen is not None else []
    return guests, problems


def _power(state: int, reason: int) -> GuestPower:
    if state == libvirt.VIR_DOMAIN_SHUTOFF and reason in _DIED:
        return GuestPower.CRASHED
    return _POWER.get(state, GuestPower.RUNNING)
