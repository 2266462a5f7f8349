"""Intents of droplets: what a person may ask, and what each asks for in the declaration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from uuid import UUID

from inventory.access import access_resource
from inventory.errors import Conflict, NotFound, invalid
from inventory.models import Dependency, Droplet, Image, Kind, Relation, Resource, SshKey
from inventory.names import hostname_for
from inventory.specs import DropletSpec
from inventory.specs.base import check_labels, check_resource_name, parse_spec
from inventory.specs.droplets import StopSpec
from operations.intents.call import Call, door
from operations.intents.opening import bump, lock_for_change
from operations.intents.resources import (
    Key,
    Metadata,
    check_may_be_deleted,
    document_of,
    insert_resource,
    open_recorded,
    save_unless_named,
)
from operations.locks import hold_references
from operations.models import Operation
from operations.planning.droplets import STEPS, DropletOperation


@dataclass(frozen=True)
class References:
    """The resources a droplet's spec names, found and checked."""

    image: Image
    keys: tuple[SshKey, ...]


def create_droplet(
    call: Call, metadata: Metadata, spec: DropletSpec, *, parent_id: UUID | None = None
) -> Operation:
    """Declare a new droplet and open its creation."""
    with door(call):
        resource = insert_resource(call, Kind.DROPLET, metadata, spec)
        references = find_references(call, resource.owner_id, spec)
        droplet = Droplet(resource=resource, hostname=hostname_for(resource.name))
        write_typed(droplet, spec, references)
        droplet.save(force_insert=True)
        write_dependencies(call, droplet, references, fresh=True)
        return open_recorded(
            call,
            resource,
            DropletOperation.CREATE,
            STEPS[DropletOperation.CREATE],
            parent_id=parent_id,
        )


def set_power(call: Call, key: Key, power: str, *, stop: StopSpec | None = None) -> Operation:
    """Declare the droplet running or stopped; `stop` says how, from now on."""
    action = DropletOperation.START if power == "running" else DropletOperation.STOP

    def wish(droplet: Droplet, spec: DropletSpec) -> DropletSpec:
        del droplet
        return spec.model_copy(update={"power": power, "stop": stop or spec.stop})

    return _change(call, key, action, wish)


def reboot(call: Call, key: Key, *, stop: StopSpec | None = None) -> Operation:
    """Declare one restart more of a droplet that is declared running."""

    def wish(droplet: Droplet, spec: DropletSpec) -> DropletSpec:
        if droplet.power != "running":
            raise Conflict(
                "droplet.not_running",
                f"Droplet {droplet.resource.name} is declared stopped, so there is nothing to "
                "reboot. Nothing changed; start it instead.",
            )
        droplet.restarts += 1
        return spec.model_copy(update={"stop": stop or spec.stop})

    return _change(call, key, DropletOperation.REBOOT, wish)


def resize(
    call: Call,
    key: Key,
    *,
    vcpus: int | None = None,
    memory_mib: int | None = None,
    disk_gib: int | None = None,
) -> Operation:
    """Declare other sizes; the guest restarts to take them. Disks only grow."""

    def wish(droplet: Droplet, spec: DropletSpec) -> DropletSpec:
        return _revalidated(
            spec,
            {
                "vcpus": vcpus if vcpus is not None else droplet.vcpus,
                "memory_mib": memory_mib if memory_mib is not None else droplet.memory_mib,
                "disk_gib": disk_gib if disk_gib is not None else droplet.disk_gib,
            },
        )

    return _change(call, key, DropletOperation.RESIZE, wish)


def rebuild(call: Call, key: Key, *, image: str | None = None) -> Operation:
    """Declare a new disk from the image (or another one): what is on the disk now is lost."""

    def wish(droplet: Droplet, spec: DropletSpec) -> DropletSpec:
        droplet.rebuilds += 1
        droplet.hostname = hostname_for(droplet.resource.name)
        return _revalidated(spec, {"image": image or spec.image})

    return _change(call, key, DropletOperation.REBUILD, wish)


def rename(call: Call, key: Key, name: str) -> Operation:
    """Give the droplet another name; the guest keeps its host name until it is rebuilt."""
    checked = check_resource_name(name)

    def wish(droplet: Droplet, spec: DropletSpec) -> DropletSpec:
        droplet.resource.name = checked
        return spec

    return _change(call, key, DropletOperation.RENAME, wish)


def change_droplet(
    call: Call,
    key: Key,
    *,
    spec: DropletSpec,
    labels: Mapping[str, str] | None = None,
    protected: bool | None = None,
    parent_id: UUID | None = None,
) -> Operation:
    """Declare the whole spec anew, as a manifest does."""

    def wish(droplet: Droplet, before: DropletSpec) -> DropletSpec:
        if spec.image != before.image:
            droplet.rebuilds += 1
        if labels is not None:
            droplet.resource.labels = check_labels(labels)
        if protected is not None:
            droplet.resource.protected = protected
        return spec

    return _change(call, key, DropletOperation.CHANGE, wish, parent_id=parent_id)


def delete_droplet(
    call: Call, key: Key, *, confirm_name: str, parent_id: UUID | None = None
) -> Operation:
    """Declare the droplet absent. Its disk goes with it."""
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.DROPLET)
        resource = lock_for_change(call, found, "delete")
        check_may_be_deleted(resource, confirm_name)
        before = document_of(resource)
        resource.absent = True
        bump(resource, call)
        return open_recorded(
            call,
            resource,
            DropletOperation.DELETE,
            STEPS[DropletOperation.DELETE],
            before=before,
            parent_id=parent_id,
        )


Wish = Callable[[Droplet, DropletSpec], DropletSpec]


def _change(
    call: Call, key: Key, action: DropletOperation, wish: Wish, *, parent_id: UUID | None = None
) -> Operation:
    with door(call):
        found = access_resource(call.actor, key, kind=Kind.DROPLET)
        resource = lock_for_change(call, found, action.removeprefix("droplet."))
        droplet = Droplet.objects.select_related("image").get(resource=resource)
        droplet.resource = resource
        before = document_of(resource) | {
            "restarts": droplet.restarts,
            "rebuilds": droplet.rebuilds,
        }
        disk_before = droplet.disk_gib
        spec = wish(droplet, DropletSpec.model_validate(resource.spec))
        references = find_references(call, resource.owner_id, spec)
        rebuilt = droplet.rebuilds != before["rebuilds"]
        if spec.disk_gib < disk_before and not rebuilt:
            raise invalid(
                "/spec/disk_gib",
                "disk_shrinks",
                f"A disk cannot shrink from {disk_before} to {spec.disk_gib} GiB: what is on it "
                "would be cut off. Nothing changed; rebuild the droplet to make it smaller.",
            )
        write_typed(droplet, spec, references)
        droplet.save()
        write_dependencies(call, droplet, references)
        resource.spec = spec.model_dump(mode="json")
        save_unless_named(resource)
        bump(resource, call)
        return open_recorded(
            call, resource, action, STEPS[action], before=before, parent_id=parent_id
        )


def _revalidated(spec: DropletSpec, changes: Mapping[str, object]) -> DropletSpec:
    return parse_spec(DropletSpec, spec.model_dump() | dict(changes))


def find_references(call: Call, owner_id: UUID, spec: DropletSpec) -> References:
    """Return the image and keys a spec names. Raises Invalid with the field that names nothing."""
    image = _find(call, owner_id, Kind.IMAGE, spec.image, "/spec/image")
    row = Image.objects.select_related("resource").get(resource=image)
    if spec.disk_gib < row.min_disk_gib:
        raise invalid(
            "/spec/disk_gib",
            "disk_too_small",
            f"Image {image.name} needs a disk of at least {row.min_disk_gib} GiB.",
        )
    keys = tuple(
        SshKey.objects.select_related("resource").get(
            resource=_find(call, owner_id, Kind.SSH_KEY, name, f"/spec/ssh_keys/{index}")
        )
        for index, name in enumerate(spec.ssh_keys)
    )
    return References(row, keys)


def _find(call: Call, owner_id: UUID, kind: Kind, key: str, pointer: str) -> Resource:
    try:
        resource = access_resource(call.actor, key, kind=kind)
    except NotFound:
        resource = None
    if resource is None or resource.absent or resource.owner_id != owner_id:
        raise invalid(
            pointer,
            "not_found",
            f"The owner has no {kind.label.lower()} {key!r}; declare it first.",
        )
    return resource


def write_typed(droplet: Droplet, spec: DropletSpec, references: References) -> None:
    """Bring the typed row in line with the spec; the caller saves it."""
    droplet.image = references.image
    droplet.vcpus = spec.vcpus
    droplet.memory_mib = spec.memory_mib
    droplet.disk_gib = spec.disk_gib
    droplet.power = spec.power
    droplet.stop_grace_seconds = spec.stop.grace_seconds
    droplet.stop_force = spec.stop.force
    droplet.user_data = spec.user_data


def write_dependencies(
    call: Call, droplet: Droplet, references: References, *, fresh: bool = False
) -> None:
    """Write what the droplet depends on. Raises Invalid when that was deleted meanwhile.

    A `fresh` droplet cannot depend on anything yet, so nothing is looked for to be removed.
    """
    if references.keys or not fresh:
        droplet.ssh_keys.set(references.keys)
    wanted = {(Relation.IMAGE_SOURCE, references.image.pk)}
    wanted |= {(Relation.KEY_SOURCE, key.pk) for key in references.keys}
    if not fresh:
        mine = Dependency.objects.filter(dependent_id=droplet.pk, resource__isnull=False)
        mine.exclude(resource_id__in=[target for _, target in wanted]).delete()
    Dependency.objects.bulk_create(
        [
            Dependency(
                dependent_id=droplet.pk, relation=relation, resource_id=target, since=call.now
            )
            for relation, target in wanted
        ],
        ignore_conflicts=True,
    )
    _check_still_there(wanted)


def _check_still_there(wanted: set[tuple[Relation, UUID]]) -> None:
    """Raise Invalid when one of them was deleted meanwhile; hold the others until commit."""
    absent = hold_references([target for _, target in wanted])
    if absent:
        gone = Resource.objects.get(pk=absent[0])
        field = "/spec/image" if gone.kind == Kind.IMAGE else "/spec/ssh_keys"
        raise invalid(field, "not_found", f"{gone.kind} {gone.name} is being deleted.")
