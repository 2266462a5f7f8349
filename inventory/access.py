"""The only way from a person and an id to an object. Default deny.

An actor sees the resources of the owners it belongs to; installation-wide nouns (zones, nodes)
are seen by everyone who signs in and changed by administrators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from django.db.models import QuerySet

from inventory.errors import Forbidden, NotFound
from inventory.models import FoundObject, Membership, Node, Owner, Resource, Role, User, Zone

_RANK = {Role.VIEWER.value: 1, Role.OPERATOR.value: 2, Role.OWNER.value: 3}


@dataclass(frozen=True)
class Actor:
    """Who asks. `roles` maps an owner to the role held there; `read_only` narrows a token."""

    user_id: int | None
    label: str
    administrator: bool = False
    roles: Mapping[UUID, str] = field(default_factory=dict)
    read_only: bool = False

    def may_read(self, owner_id: UUID) -> bool:
        return self.administrator or owner_id in self.roles

    def may_change(self, owner_id: UUID) -> bool:
        if self.read_only:
            return False
        return self.administrator or _RANK.get(self.roles.get(owner_id, ""), 0) >= _RANK["operator"]

    @property
    def may_administer(self) -> bool:
        return self.administrator and not self.read_only


LOOP = Actor(user_id=None, label="the reconcile loop", administrator=True)
"""The installation itself, when it repairs drift."""


def actor_for(user: User, *, read_only: bool = False) -> Actor:
    """Return the actor of a signed-in person, in one query."""
    roles = dict(Membership.objects.filter(user=user).values_list("owner_id", "role"))
    return Actor(
        user_id=user.pk,
        label=user.get_username(),
        administrator=user.is_superuser,
        roles=roles,
        read_only=read_only,
    )


def visible_owners(actor: Actor) -> QuerySet[Owner]:
    """Return the owners whose resources the actor may see."""
    owners = Owner.objects.all()
    return owners if actor.administrator else owners.filter(pk__in=list(actor.roles))


def visible_resources(actor: Actor, kind: str | None = None) -> QuerySet[Resource]:
    """Return the resources the actor may see, without those that are gone."""
    resources = Resource.objects.filter(deleted_at__isnull=True)
    if kind is not None:
        resources = resources.filter(kind=kind)
    return resources if actor.administrator else resources.filter(owner_id__in=list(actor.roles))


def visible_found(actor: Actor) -> QuerySet[FoundObject]:
    """Return the guests nobody declared: whose they are is unknown, so only administrators see."""
    found = FoundObject.objects.select_related("node")
    return found if actor.administrator else found.none()


def access_resource(actor: Actor, key: UUID | str | int, *, kind: str | None = None) -> Resource:
    """Return the resource by id, public id or (unique) name. Raises NotFound.

    A resource that has gone is found by its id only, so that its history can still be read.
    """
    resource = _find_resource(actor, key, kind)
    if resource is None:
        raise NotFound(kind or "resource", str(key))
    return resource


def _find_resource(actor: Actor, key: UUID | str | int, kind: str | None) -> Resource | None:
    everything = Resource.objects.select_related("owner", "zone")
    if kind is not None:
        everything = everything.filter(kind=kind)
    if not actor.administrator:
        everything = everything.filter(owner_id__in=list(actor.roles))
    identifier = as_uuid(key)
    if identifier is not None:
        return everything.filter(pk=identifier).first()
    here = everything.filter(deleted_at__isnull=True)
    by_name = list(here.filter(name=str(key)).order_by("-owner__is_default", "pk")[:2])
    if by_name:
        return by_name[0]
    if str(key).isdecimal() and len(str(key)) <= 18:  # noqa: PLR2004  a PostgreSQL bigint
        return here.filter(public_id=int(key)).first()
    return None


def check_may_change(actor: Actor, resource: Resource, action: str) -> None:
    """Raise Forbidden unless the actor may change the resource."""
    if not actor.may_change(resource.owner_id):
        raise Forbidden(
            action, f"{resource.kind} {resource.name}", "the role operator of its owner"
        )


def check_may_administer(actor: Actor, action: str, subject: str) -> None:
    """Raise Forbidden unless the actor administers the installation."""
    if not actor.may_administer:
        raise Forbidden(action, subject, "an administrator of the installation")


def access_owner(actor: Actor, key: UUID | str | None) -> Owner:
    """Return an owner the actor may act for; the default one for None. Raises NotFound."""
    owners = visible_owners(actor)
    if key is None:
        owner = owners.filter(is_default=True).first() or owners.first()
    elif (identifier := as_uuid(key)) is not None:
        owner = owners.filter(pk=identifier).first()
    else:
        owner = owners.filter(name=str(key)).first()
    if owner is None:
        raise NotFound("owner", str(key or "default"))
    return owner


def access_zone(actor: Actor, key: UUID | str) -> Zone:
    """Return a zone by id or name. Raises NotFound."""
    del actor  # every signed-in person may see zones; kept so that a call names who asks
    identifier = as_uuid(key)
    zones = Zone.objects.filter(pk=identifier) if identifier else Zone.objects.filter(name=str(key))
    zone = zones.first()
    if zone is None:
        raise NotFound("zone", str(key))
    return zone


def access_node(actor: Actor, key: UUID | str) -> Node:
    """Return a node by id, or by name among those that have not left. Raises NotFound."""
    del actor  # every signed-in person may see nodes; kept so that a call names who asks
    identifier = as_uuid(key)
    nodes = Node.objects.select_related("zone")
    nodes = (
        nodes.filter(pk=identifier)
        if identifier
        else nodes.filter(name=str(key)).exclude(lifecycle="left")
    )
    node = nodes.first()
    if node is None:
        raise NotFound("node", str(key))
    return node


def as_uuid(key: UUID | str | int) -> UUID | None:
    """Return the key as a UUID, or None when it is not one."""
    if isinstance(key, UUID):
        return key
    try:
        return UUID(str(key))
    except ValueError:
        return None
