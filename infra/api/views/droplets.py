"""Droplets: the list, one in full, declaring, changing, and the actions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from infra.api.answers import Answer
from infra.api.described import described
from infra.api.endpoint import Endpoint
from infra.api.paging import BY_NAME, list_page, read_wanted
from infra.api.shapes.base import Listing
from infra.api.shapes.droplets import (
    DropletShape,
    EmptyBody,
    RebuildBody,
    RenameBody,
    ResizeBody,
    StopBody,
    show_droplet,
)
from infra.api.shapes.operations import AcceptedOperation
from infra.api.shapes.resources import Deletion, DropletPatch, NewDroplet
from infra.api.views.operations import accepted
from infra.api.views.resources import FILTERS, OneResource, filtered
from inventory.access import access_node
from inventory.errors import invalid
from inventory.models import Kind, Resource
from inventory.reads.droplets import SEEN, DropletFilter, droplet_row, filter_droplets, with_place
from operations.intents import droplets
from operations.intents.call import Call
from operations.models import Operation
from operations.reads import open_changes

DROPLET_FILTERS = (*FILTERS, "node", "image", "state")


class DropletListing(Listing[DropletShape]):
    """A page of droplets."""


def show_droplets(rows: Sequence[Resource]) -> list[DropletShape]:
    """Return the droplets that came through `with_place`, each with its open change. One query."""
    changes = open_changes([row.pk for row in rows])
    return [show_droplet(droplet_row(row), changes.get(row.pk)) for row in rows]


class Droplets(Endpoint):
    """Droplets."""

    @described(DropletListing, filters=DROPLET_FILTERS, orders=BY_NAME)
    def get(self, request: Request) -> HttpResponseBase:
        """List droplets with what is declared, where they are and what was seen."""
        del request
        http = self.http
        wanted = read_wanted(http, BY_NAME, filters=DROPLET_FILTERS)
        state, node = http.GET.get("state", ""), http.GET.get("node", "")
        if state and state not in SEEN:
            raise invalid("/state", "state", f"States to ask for are {', '.join(SEEN)}.")
        fits = DropletFilter(
            node=access_node(self.actor, node).name if node else "",
            image=http.GET.get("image", ""),
            seen=state,
        )
        rows = with_place(filtered(self.http, self.actor, filter_droplets(self.actor, fits)))
        return self.read(Answer(list_page(rows, wanted, DropletListing, show_droplets)))

    @described(AcceptedOperation, body=NewDroplet, status=202, waits=True)
    def post(self, request: Request) -> HttpResponseBase:
        """Declare a droplet."""
        del request
        new = self.body(NewDroplet)
        return self.write(
            lambda call: accepted(droplets.create_droplet(call, new.metadata(), new.spec))
        )


class DropletDetail(OneResource):
    """One droplet."""

    kind = Kind.DROPLET
    patch_shape = DropletPatch

    def answer(self, row: Resource) -> Answer:
        found = with_place(Resource.objects.filter(pk=row.pk)).get()
        return Answer(show_droplets([found])[0], revision=found.revision)

    @described(DropletShape)
    def get(self, request: Request, key: str) -> HttpResponseBase:
        """Show a droplet."""
        del request
        return self.show_one(key)

    @described(
        AcceptedOperation, body=DropletPatch, status=202, other={200: DropletShape}, waits=True
    )
    def patch(self, request: Request, key: str) -> HttpResponseBase:
        """Change a droplet's declaration: 202 with an operation, 200 when a node need not know."""
        del request
        patch = self.body(DropletPatch)
        if patch.name is None:
            return self.change_one(key)
        if patch.model_fields_set != {"name"}:
            raise invalid("/name", "alone", "A new name is given alone. Nothing changed.")
        name = patch.name
        return self.write(lambda call: accepted(droplets.rename(call, key, name)))

    @described(AcceptedOperation, body=Deletion, status=202, waits=True)
    def delete(self, request: Request, key: str) -> HttpResponseBase:
        """Declare a droplet absent; its disk goes with it."""
        del request
        return self.delete_one(key)


class DropletAction(Endpoint):
    """Something done to a droplet."""

    def act(self, intent: Callable[[Call], Operation]) -> HttpResponseBase:
        """Write the intent's operation."""
        return self.write(lambda call: accepted(intent(call)))


class DropletStart(DropletAction):
    """Starting."""

    @described(AcceptedOperation, body=EmptyBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Declare a droplet running."""
        del request
        self.body(EmptyBody)
        return self.act(lambda call: droplets.set_power(call, key, "running"))


class DropletStop(DropletAction):
    """Stopping."""

    @described(AcceptedOperation, body=StopBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Declare a droplet stopped: asked to, and cut off only where `force` says so."""
        del request
        stop = self.body(StopBody).stop
        return self.act(lambda call: droplets.set_power(call, key, "stopped", stop=stop))


class DropletReboot(DropletAction):
    """Rebooting."""

    @described(AcceptedOperation, body=StopBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Stop a droplet's guest and start it again."""
        del request
        stop = self.body(StopBody).stop
        return self.act(lambda call: droplets.reboot(call, key, stop=stop))


class DropletResize(DropletAction):
    """Resizing."""

    @described(AcceptedOperation, body=ResizeBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Declare other sizes; the guest restarts to take them."""
        del request
        sizes = self.body(ResizeBody)
        if not sizes.model_fields_set:
            raise invalid("", "empty", "Name at least one of vcpus, memory_mib and disk_gib.")
        return self.act(
            lambda call: droplets.resize(
                call,
                key,
                vcpus=sizes.vcpus,
                memory_mib=sizes.memory_mib,
                disk_gib=sizes.disk_gib,
            )
        )


class DropletRename(DropletAction):
    """Renaming."""

    @described(AcceptedOperation, body=RenameBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Give a droplet another name; the guest keeps its host name until it is rebuilt."""
        del request
        name = self.body(RenameBody).name
        return self.act(lambda call: droplets.rename(call, key, name))


class DropletRebuild(DropletAction):
    """Rebuilding."""

    @described(AcceptedOperation, body=RebuildBody, status=202, waits=True)
    def post(self, request: Request, key: str) -> HttpResponseBase:
        """Make a droplet's disk anew from its image or another: what is on it is lost."""
        del request
        image = self.body(RebuildBody).image
        return self.act(lambda call: droplets.rebuild(call, key, image=image))
