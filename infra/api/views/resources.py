"""What all kinds of resource share: lists, documents, changes, deletion. Kinds build on these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from django.db.models import QuerySet
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from pydantic import BaseModel
from rest_framework.request import Request

from infra.api.answers import Answer
from infra.api.described import described
from infra.api.endpoint import Endpoint
from infra.api.paging import (
    BY_NAME,
    label_filter,
    list_page,
    owner_filter,
    read_wanted,
    text_filter,
    zone_filter,
)
from infra.api.shapes.base import Listing
from infra.api.shapes.operations import AcceptedOperation
from infra.api.shapes.resources import (
    Deletion,
    ImageShape,
    NewAnyResource,
    NewImage,
    NewSshKey,
    ResourcePatch,
    ResourceShape,
    SshKeyShape,
    show_image,
    show_resource,
    show_ssh_key,
)
from infra.api.views.operations import accepted
from inventory.access import Actor, access_resource, visible_resources
from inventory.errors import invalid
from inventory.models import Kind, Resource
from operations.intents.call import Call
from operations.intents.images import create_image
from operations.intents.kinds import KINDS
from operations.intents.patching import Patch, patch_resource
from operations.intents.sshkeys import create_ssh_key

Shown = TypeVar("Shown", bound=BaseModel)

FILTERS = ("owner", "zone", "label", "q")
KIND_FILTERS = ("kind", *FILTERS)


class ResourceListing(Listing[ResourceShape]):
    """A page of resources."""


class ImageListing(Listing[ImageShape]):
    """A page of images."""


class SshKeyListing(Listing[SshKeyShape]):
    """A page of keys."""


def filtered(http: HttpRequest, actor: Actor, rows: QuerySet[Resource]) -> QuerySet[Resource]:
    """Return the rows that fit the filters of all resources. Raises Invalid, NotFound."""
    rows = rows.filter(text_filter(http), label_filter(http))
    owner, zones = owner_filter(http, actor), zone_filter(http, actor)
    if owner is not None:
        rows = rows.filter(owner_id=owner)
    if zones is not None:
        rows = rows.filter(zone_id__in=zones)
    return rows


class OneResource(Endpoint):
    """Showing, changing and deleting one resource; `kind` is None where any kind will do."""

    kind: Kind | None = None
    patch_shape: type[ResourcePatch] = ResourcePatch

    def show(self, row: Resource) -> BaseModel:
        return show_resource(row)

    def show_one(self, key: str) -> HttpResponseBase:
        row = access_resource(self.actor, key, kind=self.kind)
        return self.read(self.answer(row))

    def answer(self, row: Resource) -> Answer:
        return Answer(self.show(row), revision=row.revision)

    def change_one(self, key: str) -> HttpResponseBase:
        patch = self.body(self.patch_shape)

        def act(call: Call) -> Answer:
            changed = patch_resource(
                call, key, Patch(patch.labels, patch.protected, patch.spec), kind=self.kind
            )
            return accepted(changed) if not isinstance(changed, Resource) else self.answer(
                access_resource(call.actor, changed.pk)
            )  # fmt: skip

        return self.write(act)

    def delete_one(self, key: str) -> HttpResponseBase:
        name = confirmed_name(self)

        def act(call: Call) -> Answer:
            row = access_resource(call.actor, key, kind=self.kind)
            return accepted(KINDS[Kind(row.kind)].delete(call, row.pk, confirm_name=name))

        return self.write(act)


def confirmed_name(endpoint: Endpoint) -> str:
    """Return the name that a deletion repeats, from its body or its query. Raises Invalid."""
    stated = endpoint.body(Deletion).confirm_name
    stated = stated or endpoint.request.query_params.get("confirm_name")
    if not stated:
        raise invalid(
            "/confirm_name",
            "required",
            "Repeat the name in confirm_name to delete. Nothing changed.",
        )
    return stated


class Resources(Endpoint):
    """Resources of all kinds."""

    @described(ResourceListing, filters=KIND_FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List resources of all kinds."""
        del request
        http = self.http
        wanted = read_wanted(http, BY_NAME, filters=KIND_FILTERS)
        kind = http.GET.get("kind") or None
        if kind is not None and kind not in set(Kind.values):
            raise invalid("/kind", "kind", f"Known kinds are {', '.join(Kind.values)}.")
        rows = visible_resources(self.actor, kind).select_related("owner", "zone")
        rows = filtered(self.http, self.actor, rows)
        return self.read(Answer(list_page(rows, wanted, ResourceListing, _shown(show_resource))))

    @described(AcceptedOperation, body=NewAnyResource, status=202, waits=True)
    def post(self, request: Request) -> HttpResponseBase:
        """Declare a resource of any kind."""
        del request
        new = self.body(NewAnyResource)
        if new.kind not in set(Kind.values):
            raise invalid("/kind", "kind", f"Known kinds are {', '.join(Kind.values)}.")
        intents = KINDS[Kind(new.kind)]
        return self.write(lambda call: accepted(intents.declare(call, new.metadata(), new.spec)))


class ResourceDetail(OneResource):
    """One resource of any kind."""

    @described(ResourceShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a resource."""
        del request
        return self.show_one(key)

    @described(
        AcceptedOperation, body=ResourcePatch, status=202, other={200: ResourceShape}, waits=True
    )
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change a declaration: 202 with an operation, 200 when there is nothing to carry out."""
        del request
        return self.change_one(key)

    @described(AcceptedOperation, body=Deletion, status=202, waits=True)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Declare a resource absent."""
        del request
        return self.delete_one(key)


class Images(Endpoint):
    """Images."""

    @described(ImageListing, filters=FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List images."""
        del request
        wanted = read_wanted(self.http, BY_NAME, filters=FILTERS)
        rows = visible_resources(self.actor, Kind.IMAGE).select_related("owner", "zone")
        rows = filtered(self.http, self.actor, rows)
        return self.read(Answer(list_page(rows, wanted, ImageListing, _shown(show_image))))

    @described(AcceptedOperation, body=NewImage, status=202, waits=True)
    def post(self, request: Request) -> HttpResponseBase:
        """Declare an image; its operation verifies that the store holds the bytes."""
        del request
        new = self.body(NewImage)
        return self.write(lambda call: accepted(create_image(call, new.metadata(), new.spec)))


class ImageDetail(OneResource):
    """One image."""

    kind = Kind.IMAGE

    def show(self, row: Resource) -> BaseModel:
        return show_image(row)

    @described(ImageShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show an image."""
        del request
        return self.show_one(key)

    @described(
        AcceptedOperation, body=ResourcePatch, status=202, other={200: ImageShape}, waits=True
    )
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change labels, protection, address or smallest disk of an image."""
        del request
        return self.change_one(key)

    @described(AcceptedOperation, body=Deletion, status=202, waits=True)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Declare an image absent; refused while a droplet starts from it."""
        del request
        return self.delete_one(key)


class SshKeys(Endpoint):
    """SSH keys."""

    @described(SshKeyListing, filters=FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List SSH keys."""
        del request
        wanted = read_wanted(self.http, BY_NAME, filters=FILTERS)
        rows = visible_resources(self.actor, Kind.SSH_KEY)
        rows = filtered(self.http, self.actor, rows.select_related("owner", "zone", "sshkey"))
        return self.read(Answer(list_page(rows, wanted, SshKeyListing, _shown(show_ssh_key))))

    @described(AcceptedOperation, body=NewSshKey, status=202, waits=True)
    def post(self, request: Request) -> HttpResponseBase:
        """Declare an SSH key."""
        del request
        new = self.body(NewSshKey)
        return self.write(lambda call: accepted(create_ssh_key(call, new.metadata(), new.spec)))


class SshKeyDetail(OneResource):
    """One SSH key."""

    kind = Kind.SSH_KEY

    def show(self, row: Resource) -> BaseModel:
        return show_ssh_key(row)

    @described(SshKeyShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show an SSH key."""
        del request
        return self.show_one(key)

    @described(
        AcceptedOperation, body=ResourcePatch, status=202, other={200: SshKeyShape}, waits=True
    )
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change labels or protection of a key."""
        del request
        return self.change_one(key)

    @described(AcceptedOperation, body=Deletion, status=202, waits=True)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Declare a key absent; refused while a droplet takes it."""
        del request
        return self.delete_one(key)


def _shown(show: Callable[[Resource], Shown]) -> Callable[[Sequence[Resource]], list[Shown]]:
    return lambda rows: [show(row) for row in rows]
