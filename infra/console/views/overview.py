"""The overview: what is wrong, why, what to do; then how much there is, and what happened last."""

from __future__ import annotations

from datetime import timedelta

from django.http import HttpResponse
from django.shortcuts import render
from django.utils import timezone

from infra.console.attention import problems
from infra.console.context import limits_of
from infra.console.doors import PageRequest, page
from inventory.reads.attention import COUNT_TO, read_amounts
from inventory.reads.attention import read_attention as read_fleet_attention
from operations.reads import read_attention, recent_operations

FAILURES_FOR = timedelta(days=3)
"""A weekend: who comes back on Monday still sees what failed on Friday night."""


@page
def overview(request: PageRequest) -> HttpResponse:
    """Show the front page, or only its living part."""
    now = timezone.now()
    limits = limits_of(request)
    amounts = read_amounts(request.actor, limits)
    context = {
        "amounts": amounts,
        "count_to": COUNT_TO,
        "problems": problems(
            read_fleet_attention(limits, now=now),
            read_attention(request.actor, limits, since=now - FAILURES_FOR),
        ),
        "recent": recent_operations(request.actor, limits),
        "first_steps": not (
            amounts.zones and amounts.nodes and amounts.images and amounts.droplets
        ),
    }
    part = "console/overview_part.html" if request.htmx else "console/overview.html"
    return render(request, part, context)
