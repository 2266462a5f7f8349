"""What would make a droplet on this node match its declaration. Pure.

The order of things is fixed by what may be lost: a guest is stopped before its sizes or its disk
change, a disk is there before the definition that names it, and nothing is removed that runs.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from agent.observed import Absent, Observed, Present, Unknown
from agent.planning.plans import Plan, Problem, Wait, Waiting
from agent.protocol.declarations import (
    AbsentDeclaration,
    Declaration,
    DropletDeclaration,
    Power,
    StopPolicy,
)
from agent.protocol.observations import DropletObservation, GuestPower

ASK_AGAIN_SECONDS = 10.0
"""A guest that has not booted far enough loses the first request to stop; so it is repeated."""

LOOK_AGAIN_SECONDS = 2.0
PAUSED_LOOK_SECONDS = 10.0

_ON = frozenset({GuestPower.RUNNING, GuestPower.PAUSED})


@dataclass(frozen=True)
class StopAsked:
    """The guest has been asked to stop under this generation.

    `first_seconds` ago for the first time, `last_seconds` ago for the last, by a clock that only
    goes forward.
    """

    first_seconds: float
    last_seconds: float


def plan(
    declaration: Declaration,
    observed: Observed,
    *,
    image_ready: bool,
    stop: StopAsked | None,
) -> Plan:
    """Return what to do next; nothing when the droplet matches its declaration."""
    if isinstance(observed, Unknown):
        return Plan(waiting_on=Wait(Waiting.HYPERVISOR, observed.reason, LOOK_AGAIN_SECONDS))
    if isinstance(observed, Present) and declaration.generation < observed.droplet.generation:
        text = (
            f"The node's droplet is of generation {observed.droplet.generation}, newer than the "
            f"declared {declaration.generation}: the declaration is out of date."
        )
        return Plan(problem=Problem("generation.behind", text))
    if isinstance(declaration, AbsentDeclaration):
        return _plan_absence(declaration, observed, stop)
    if isinstance(observed, Absent):
        return Plan((*_make_disk(declaration, image_ready=image_ready), *_define(declaration)))
    if observed.droplet.power in _ON:
        return _plan_on(declaration, observed, stop)
    return _plan_off(declaration, observed, image_ready=image_ready)


def _plan_absence(
    declaration: AbsentDeclaration, observed: Absent | Present, stop: StopAsked | None
) -> Plan:
    if isinstance(observed, Absent):
        return Plan()
    if observed.droplet.power in _ON:
        return _stop(observed.droplet, declaration.stop, stop)
    return Plan((Remove(declaration.resource_id),))


def _plan_on(declaration: DropletDeclaration, observed: Present, stop: StopAsked | None) -> Plan:
    seen = observed.droplet
    if _must_stop(declaration, seen):
        return _stop(seen, declaration.stop, stop)
    if seen.power is GuestPower.PAUSED:
        text = "The guest is paused. Whatever paused it had a reason that resuming would hide."
        return Plan(waiting_on=Wait(Waiting.GUEST_PAUSED, text, PAUSED_LOOK_SECONDS))
    if seen.generation != declaration.generation or not observed.defined:
        return Plan((Define(declaration),))
    return Plan()


def _must_stop(declaration: DropletDeclaration, seen: DropletObservation) -> bool:
    """Return whether the guest has to be off, be it for good or to come up otherwise."""
    return (
        declaration.power is Power.STOPPED
        or (seen.restarts or 0) < declaration.restarts
        or seen.rebuilds < declaration.rebuilds
        or (seen.vcpus, seen.memory_mib) != (declaration.vcpus, declaration.memory_mib)
        or seen.disk_gib < declaration.disk_gib
    )


def _plan_off(declaration: DropletDeclaration, observed: Present, *, image_ready: bool) -> Plan:
    seen = observed.droplet
    actions: list[Action] = []
    if seen.rebuilds < declaration.rebuilds or not (observed.disk or observed.defined):
        actions += _make_disk(declaration, image_ready=image_ready)
    elif not observed.disk:
        text = (
            "The droplet is defined but its disk is gone. It is not made anew by itself: "
            "rebuild the droplet if what was on the disk is not needed."
        )
        return Plan(problem=Problem("disk.missing", text))
    elif seen.disk_gib < declaration.disk_gib:
        actions.append(GrowDisk(declaration))
    if actions or not observed.defined or not _is_defined_so(declaration, seen):
        actions.append(Define(declaration))
    if declaration.power is Power.RUNNING:
        actions.append(Start(declaration))
    return Plan(tuple(actions))


def _is_defined_so(declaration: DropletDeclaration, seen: DropletObservation) -> bool:
    return (seen.generation, seen.vcpus, seen.memory_mib) == (
        declaration.generation,
        declaration.vcpus,
        declaration.memory_mib,
    )


def _make_disk(declaration: DropletDeclaration, *, image_ready: bool) -> tuple[Action, ...]:
    if image_ready:
        return (CreateDisk(declaration),)
    return (FetchImage(declaration.image), CreateDisk(declaration))


def _define(declaration: DropletDeclaration) -> tuple[Action, ...]:
    if declaration.power is Power.RUNNING:
        return (Define(declaration), Start(declaration))
    return (Define(declaration),)


def _stop(seen: DropletObservation, policy: StopPolicy, asked: StopAsked | None) -> Plan:
    """Ask, ask again, and only if the policy says so and its grace is over, cut off.

    A paused guest hears nothing, so no grace is waited out for it.
    """
    waited = asked.first_seconds if asked else 0.0
    paused = seen.power is GuestPower.PAUSED
    if policy.force and (paused or waited >= policy.grace_seconds):
        return Plan((ForceStop(seen.resource_id),))
    if paused:
        text = "The guest is paused and cannot stop by itself, and cutting it off is not allowed."
        return Plan(waiting_on=Wait(Waiting.GUEST_PAUSED, text, PAUSED_LOOK_SECONDS))
    if asked is None or asked.last_seconds >= ASK_AGAIN_SECONDS:
        return Plan((RequestStop(seen.resource_id),))
    look = ASK_AGAIN_SECONDS - asked.last_seconds
    if policy.force:
        look = min(look, policy.grace_seconds - waited)
    return Plan(waiting_on=Wait(Waiting.GUEST_STOP, _stop_text(policy, waited), look))


def _stop_text(policy: StopPolicy, waited: float) -> str:
    asked = "The guest has been asked to stop."
    if policy.force:
        return f"{asked} If it has not done so {policy.grace_seconds} s later, it is cut off."
    if waited < policy.grace_seconds:
        return asked
    return (
        f"{asked} It has not done so within {policy.grace_seconds} s, "
        "and cutting it off is not allowed."
    )
