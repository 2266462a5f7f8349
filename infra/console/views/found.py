"""Found objects: guests on nodes that this inventory did not declare. Listed, never touched."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render

from infra.console.context import limits_of
from infra.console.doors import PageRequest, page
from infra.console.listing import PAGE_SIZE, paging_of, text_of
from inventory.reads.resources import list_found


@page
def found_list(request: PageRequest) -> HttpResponse:
    """Show what was found."""
    text = text_of(request, "q")
    found = list_found(
        request.actor,
        text=text,
        zone_ids=limits_of(request).zone_ids,
        after=request.GET.get("after", ""),
        size=PAGE_SIZE,
    )
    context = {
        "found": found.rows,
        "paging": paging_of(request, found),
        "text": text,
        "filtered": bool(text),
    }
    part = "console/found/rows.html" if request.htmx else "console/found/list.html"
    return render(request, part, context)
