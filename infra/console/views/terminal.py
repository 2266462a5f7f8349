"""The serial console of a droplet in the browser."""

from __future__ import annotations

from uuid import UUID

from csp.constants import NONCE, SELF
from csp.decorators import csp_update
from django.http import HttpResponse
from django.shortcuts import render

from infra.console.crumbs import Crumb, trail
from infra.console.doors import PageRequest, page
from inventory.access import access_resource, check_may_change
from inventory.models import Kind
from inventory.reads.droplets import read_droplet
from operations.reads import open_changes


@csp_update({"style-src": [SELF, NONCE]})  # type: ignore[arg-type]  # its types know no arguments
@page
def terminal(request: PageRequest, key: UUID) -> HttpResponse:
    """Show the terminal. It writes its own style elements, so this page alone has a style nonce."""
    resource = access_resource(request.actor, key, kind=Kind.DROPLET)
    check_may_change(request.actor, resource, "type at the console of")
    row = read_droplet(resource.pk)
    change = open_changes([resource.pk]).get(resource.pk)
    context = {
        "crumbs": (
            *trail(("Droplets", "droplets")),
            Crumb(resource.name, f"/droplets/{resource.pk}/"),
            Crumb("Serial console"),
        ),
        "resource": resource,
        "row": row,
        "standing": row.standing(change),
    }
    return render(request, "console/droplets/terminal.html", context)
