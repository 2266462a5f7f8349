"""The operations tray: mine, open, failed."""

from django.http import HttpResponse
from django.shortcuts import render

from infra.console.doors import PageRequest, page
from operations.reads import read_tray


@page
def tray(request: PageRequest) -> HttpResponse:
    """Return the tray's body and, beside it, the counter in the bar."""
    return render(request, "console/tray.html", {"tray": read_tray(request.actor)})
