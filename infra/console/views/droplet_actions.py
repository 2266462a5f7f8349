"""What can be done to droplets: one at a time, or many with a result for each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from infra.console.crumbs import trail
from infra.console.doors import PageRequest, call_of, page
from infra.console.inputs import integer_of, values_of
from infra.console.refusals import refusal_of
from infra.console.views.droplets import show_droplet
from inventory.access import access_resource, as_uuid
from inventory.errors import InfraError
from inventory.models import Kind, Resource
from inventory.specs.droplets import StopSpec
from operations.intents import droplets as intents
from operations.intents.call import Call
from operations.intents.resources import set_protection
from operations.models import Operation

MOST_AT_ONCE = 200
"""Four pages of rows. More is a manifest."""

Act = Callable[[Call, UUID, Mapping[str, str]], Operation]


def _start(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    del values
    return intents.set_power(call, key, "running")


def _stop(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    return intents.set_power(call, key, "stopped", stop=_stop_policy(values))


def _reboot(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    return intents.reboot(call, key, stop=_stop_policy(values))


def _stop_policy(values: Mapping[str, str]) -> StopSpec | None:
    """Return how to stop, when the person chose; None leaves it as declared."""
    if values.get("how") == "force":
        return StopSpec(grace_seconds=10, force=True)
    return None


def _resize(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    names = ("vcpus", "memory_mib", "disk_gib")
    sizes = {name: integer_of(values.get(name, ""), f"/spec/{name}") for name in names}
    return intents.resize(call, key, **sizes)


def _rename(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    return intents.rename(call, key, values.get("name", ""))


def _rebuild(call: Call, key: UUID, values: Mapping[str, str]) -> Operation:
    return intents.rebuild(call, key, image=values.get("image") or None)


ACTS: Mapping[str, Act] = MappingProxyType({"start": _start, "stop": _stop, "reboot": _reboot})
CHANGES: Mapping[str, Act] = MappingProxyType(
    {"resize": _resize, "rename": _rename, "rebuild": _rebuild}
)


@require_POST
@page
def act(request: PageRequest, key: UUID) -> HttpResponse:
    """Start, stop or reboot."""
    wanted = ACTS.get(request.POST.get("act", ""))
    if wanted is None:
        messages.error(request, "That cannot be done to a droplet. Nothing was changed.")
        return redirect("console:droplet", key)
    return _carry_out(request, key, wanted)


@require_POST
@page
def change(request: PageRequest, key: UUID) -> HttpResponse:
    """Resize, rename, rebuild, protect or unprotect."""
    wanted = request.POST.get("change", "")
    if wanted in {"protect", "unprotect"}:
        return _protect(request, key, protected=wanted == "protect")
    act_of = CHANGES.get(wanted)
    if act_of is None:
        messages.error(request, "That cannot be done to a droplet. Nothing was changed.")
        return redirect("console:droplet", key)
    return _carry_out(request, key, act_of)


def _carry_out(request: PageRequest, key: UUID, wanted: Act) -> HttpResponse:
    values = values_of(request.POST)
    try:
        operation = wanted(call_of(request), key, values)
    except InfraError as error:
        resource = access_resource(request.actor, key, kind=Kind.DROPLET)
        return show_droplet(
            request, resource, more={"refusal": refusal_of(error), "values": values}
        )
    return redirect("console:operation", operation.public_id)


def _protect(request: PageRequest, key: UUID, *, protected: bool) -> HttpResponse:
    try:
        set_protection(call_of(request), key, protected=protected, kind=Kind.DROPLET)
    except InfraError as error:
        messages.error(request, str(error))
    else:
        word = "is protected against deletion" if protected else "can be deleted again"
        messages.success(request, f"The droplet {word}.")
    return redirect("console:droplet", key)


@require_POST
@page
def delete(request: PageRequest, key: UUID) -> HttpResponse:
    """Declare the droplet absent."""
    name = request.POST.get("confirm_name", "")
    try:
        operation = intents.delete_droplet(call_of(request), key, confirm_name=name)
    except InfraError as error:
        messages.error(request, str(error))
        return redirect("console:droplet", key)
    return redirect("console:operation", operation.public_id)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one of many: an operation, or a refusal in words."""

    key: UUID
    name: str
    operation: Operation | None
    refused: str


@require_POST
@page
def bulk(request: PageRequest) -> HttpResponse:
    """Do one thing to many droplets; each is taken or refused by itself."""
    wanted = request.POST.get("act", "")
    keys = [key for key in map(as_uuid, request.POST.getlist("id")) if key is not None]
    if wanted not in {*ACTS, "delete"} or not keys:
        messages.error(request, "Select droplets and something to do. Nothing was changed.")
        return redirect("console:droplets")
    if len(keys) > MOST_AT_ONCE:
        messages.error(request, f"At most {MOST_AT_ONCE} at once. Nothing was changed.")
        return redirect("console:droplets")
    results = [_one_of_many(request, key, wanted) for key in keys]
    context = {
        "crumbs": trail(("Droplets", "droplets"), f"{wanted.capitalize()} {len(keys)}"),
        "act": wanted,
        "results": results,
        "taken": sum(result.operation is not None for result in results),
    }
    return render(request, "console/droplets/bulk.html", context)


def _one_of_many(request: PageRequest, key: UUID, wanted: str) -> Result:
    name = str(key)
    try:
        resource = access_resource(request.actor, key, kind=Kind.DROPLET)
        name = resource.name
        operation = _bulk_act(request, resource, wanted)
    except InfraError as error:
        return Result(key, name, None, str(error))
    return Result(key, name, operation, "")


def _bulk_act(request: PageRequest, resource: Resource, wanted: str) -> Operation:
    call = call_of(request)
    if wanted == "delete":
        # The person has seen and confirmed the list of names; protection still holds for each.
        return intents.delete_droplet(call, resource.pk, confirm_name=resource.name)
    return ACTS[wanted](call, resource.pk, {})
