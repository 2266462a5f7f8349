"""Addresses of the API, below /api/v1/."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.views.decorators.csrf import csrf_exempt

from infra.api.documentation import Pages, openapi_json
from infra.api.endpoint import Endpoint
from infra.api.errors import problem
from infra.api.events import events
from infra.api.views import droplets, fleet, manifests, operations, people, resources
from infra.api.waiting import waits

app_name = "api"


def at(route: str, endpoint: type[Endpoint]) -> URLPattern:
    """Return the pattern of an endpoint that answers at once."""
    return path(route, endpoint.as_view())


def waiting_at(route: str, endpoint: type[Endpoint]) -> URLPattern:
    """Return the pattern of an endpoint that honours `Prefer: wait=N`."""
    # Django takes asynchronous views; the stubs of `path` do not know it yet.
    return path(route, waits(endpoint.as_view()))  # type: ignore[arg-type]


@csrf_exempt
def nothing_here(request: HttpRequest, rest: str = "") -> HttpResponse:
    """Answer that there is nothing at this address, as a problem document."""
    del request, rest
    return problem(HTTPStatus.NOT_FOUND, "not_found", "There is nothing at this address.")


urlpatterns = [
    path("openapi.json", openapi_json, name="openapi"),
    path("docs", Pages.as_view(), name="docs"),
    path("events", events, name="events"),  # type: ignore[arg-type]
    at("version", people.Version),
    at("login", people.Login),
    at("me", people.Me),
    at("tokens", people.Tokens),
    at("tokens/<str:key>", people.TokenDetail),
    at("owners", people.Owners),
    at("owners/<str:key>", people.OwnerDetail),
    at("audit", people.Audit),
    at("zones", fleet.Zones),
    at("zones/<str:key>", fleet.ZoneDetail),
    at("nodes", fleet.Nodes),
    at("nodes/<str:key>", fleet.NodeDetail),
    at("nodes/<str:key>/drain", fleet.NodeDrain),
    at("nodes/<str:key>/resume", fleet.NodeResume),
    at("nodes/<str:key>/leave", fleet.NodeLeave),
    at("nodes/<str:key>/token", fleet.NodeToken),
    at("nodes/<str:key>/certificates", fleet.NodeCertificates),
    at("found", fleet.Found),
    at("found/<str:key>", fleet.FoundDetail),
    waiting_at("resources", resources.Resources),
    waiting_at("resources/<str:key>", resources.ResourceDetail),
    waiting_at("images", resources.Images),
    waiting_at("images/<str:key>", resources.ImageDetail),
    waiting_at("sshkeys", resources.SshKeys),
    waiting_at("sshkeys/<str:key>", resources.SshKeyDetail),
    waiting_at("droplets", droplets.Droplets),
    waiting_at("droplets/<str:key>", droplets.DropletDetail),
    waiting_at("droplets/<str:key>/start", droplets.DropletStart),
    waiting_at("droplets/<str:key>/stop", droplets.DropletStop),
    waiting_at("droplets/<str:key>/reboot", droplets.DropletReboot),
    waiting_at("droplets/<str:key>/resize", droplets.DropletResize),
    waiting_at("droplets/<str:key>/rename", droplets.DropletRename),
    waiting_at("droplets/<str:key>/rebuild", droplets.DropletRebuild),
    at("operations", operations.Operations),
    waiting_at("operations/<str:key>", operations.OperationDetail),
    at("operations/<str:key>/cancel", operations.OperationCancel),
    waiting_at("operations/<str:key>/retry", operations.OperationRetry),
    waiting_at("apply", manifests.Apply),
    at("plan", manifests.Plan),
    at("diff", manifests.Diff),
    path("<path:rest>", nothing_here),
    path("", nothing_here),
]
