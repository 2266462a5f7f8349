"""Search, the command palette, and the scope."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from infra.console.context import frame_of
from infra.console.doors import PageRequest, page
from infra.console.listing import text_of
from infra.console.scope import SESSION_KEY
from inventory.reads.resources import search

HITS = 25
PALETTE_HITS = 6


@dataclass(frozen=True, slots=True)
class Command:
    """Something to do from the palette: an address, or a word the browser acts on itself."""

    name: str
    icon: str
    address: str = ""
    act: str = ""


def _commands() -> tuple[Command, ...]:
    return (
        Command("Create a droplet", "plus", reverse("console:droplet-create")),
        Command("Declare an image", "plus", reverse("console:image-create")),
        Command("Add an SSH key", "plus", reverse("console:sshkey-create")),
        Command("Draw a zone", "plus", reverse("console:zone-create")),
        Command("Add a node", "plus", reverse("console:node-create")),
        Command("Open or close the operations tray", "activity", act="tray"),
        Command("Use the light theme", "sun", act="theme-light"),
        Command("Use the dark theme", "moon", act="theme-dark"),
        Command("Use the system's theme", "device-desktop", act="theme-auto"),
        Command("Show the keyboard shortcuts", "keyboard", act="help"),
    )


@page
def search_page(request: PageRequest) -> HttpResponse:
    """Show what was found, with zone and parent."""
    text = text_of(request, "q")
    context = {"search_text": text, "hits": search(request.actor, text, limit=HITS)}
    return render(request, "console/search.html", context)


@page
def palette(request: PageRequest) -> HttpResponse:
    """Return objects and actions for the palette."""
    text = text_of(request, "q")
    wanted = text.casefold()
    places = [
        Command(f"Go to {entry.name}", entry.icon, entry.address)
        for entry in frame_of(request).navigation
    ]
    fitting = [c for c in (*places, *_commands()) if wanted in c.name.casefold()]
    context = {"hits": search(request.actor, text, limit=PALETTE_HITS), "commands": fitting}
    return render(request, "console/palette.html", context)


@require_POST
@page
def set_scope(request: PageRequest) -> HttpResponse:
    """Keep the scope in the session and go back to where the person was."""
    wanted = {name: request.POST.get(name, "") for name in ("zone", "owner")}
    request.session[SESSION_KEY] = {name: value for name, value in wanted.items() if value}
    back = request.POST.get("next", "/")
    here = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()})
    return redirect(back if here else "console:overview")
