"""Addresses of the console's pages."""

from django.urls import path

from infra.console.views import (
    droplet_actions,
    droplets,
    found,
    images,
    nodes,
    operations,
    overview,
    searching,
    signing_in,
    sshkeys,
    terminal,
    tray,
    zones,
)
from infra.events import console_events

app_name = "console"

urlpatterns = [
    path("", overview.overview, name="overview"),
    path("sign-in/", signing_in.SignIn.as_view(), name="sign-in"),
    path("sign-out/", signing_in.sign_out, name="sign-out"),
    path("scope/", searching.set_scope, name="scope"),
    path("search/", searching.search_page, name="search"),
    path("console/palette", searching.palette, name="palette"),
    path("console/events", console_events, name="events"),  # type: ignore[arg-type]  # async
    path("console/tray", tray.tray, name="tray"),
    path("zones/", zones.zone_list, name="zones"),
    path("zones/new/", zones.zone_create, name="zone-create"),
    path("zones/<str:key>/", zones.zone_detail, name="zone"),
    path("zones/<str:key>/edit/", zones.zone_edit, name="zone-edit"),
    path("zones/<str:key>/delete/", zones.zone_delete, name="zone-delete"),
    path("nodes/", nodes.node_list, name="nodes"),
    path("nodes/new/", nodes.node_create, name="node-create"),
    path("nodes/<str:key>/", nodes.node_detail, name="node"),
    path("nodes/<str:key>/edit/", nodes.node_edit, name="node-edit"),
    path("nodes/<str:key>/lifecycle/", nodes.node_lifecycle, name="node-lifecycle"),
    path("nodes/<str:key>/token/", nodes.node_token, name="node-token"),
    path("droplets/", droplets.droplet_list, name="droplets"),
    path("droplets/new/", droplets.droplet_create, name="droplet-create"),
    path("droplets/preview/", droplets.droplet_preview, name="droplet-preview"),
    path("droplets/bulk/", droplet_actions.bulk, name="droplet-bulk"),
    path("droplets/<uuid:key>/", droplets.droplet_detail, name="droplet"),
    path("droplets/<uuid:key>/act/", droplet_actions.act, name="droplet-act"),
    path("droplets/<uuid:key>/change/", droplet_actions.change, name="droplet-change"),
    path("droplets/<uuid:key>/delete/", droplet_actions.delete, name="droplet-delete"),
    path("droplets/<uuid:key>/terminal/", terminal.terminal, name="droplet-terminal"),
    path("images/", images.image_list, name="images"),
    path("images/new/", images.image_create, name="image-create"),
    path("images/<uuid:key>/", images.image_detail, name="image"),
    path("images/<uuid:key>/delete/", images.image_delete, name="image-delete"),
    path("keys/", sshkeys.key_list, name="sshkeys"),
    path("keys/new/", sshkeys.key_create, name="sshkey-create"),
    path("keys/<uuid:key>/", sshkeys.key_detail, name="sshkey"),
    path("keys/<uuid:key>/delete/", sshkeys.key_delete, name="sshkey-delete"),
    path("operations/", operations.operation_list, name="operations"),
    path("operations/<str:key>/", operations.operation_detail, name="operation"),
    path("operations/<str:key>/cancel/", operations.operation_cancel, name="operation-cancel"),
    path("operations/<str:key>/retry/", operations.operation_retry, name="operation-retry"),
    path("found/", found.found_list, name="found"),
]
