"""What the frame around every page needs. Two queries, and only when a page draws the frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import cast

from django.http import HttpRequest
from django.urls import reverse

from infra.console.doors import PageRequest, request_id
from infra.console.scope import SESSION_KEY, Scope, read_scope
from inventory.access import visible_owners
from inventory.models import Owner
from inventory.reads.attention import Limits
from inventory.reads.zones import ZoneChoice, list_zone_choices, within


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the navigation; `key` follows `g` on the keyboard."""

    name: str
    address: str
    icon: str
    key: str
    group: str = ""


_NAVIGATION = (
    ("Overview", "overview", "layout-dashboard", "o", ""),
    ("Droplets", "droplets", "droplet", "d", "Resources"),
    ("Images", "images", "disc", "i", ""),
    ("SSH keys", "sshkeys", "key", "k", ""),
    ("Zones", "zones", "sitemap", "z", "Fleet"),
    ("Nodes", "nodes", "server-2", "n", ""),
    ("Found", "found", "ghost-2", "f", ""),
    ("Operations", "operations", "activity", "p", "Changes"),
)


def _version() -> str:
    try:
        return version("infra")
    except PackageNotFoundError:
        return ""


class Frame:
    """The frame of one page; each part is read when the template first asks for it."""

    version = _version()

    def __init__(self, request: PageRequest) -> None:
        self._request = request

    @property
    def navigation(self) -> Sequence[Entry]:
        return [
            Entry(name, reverse(f"console:{view}"), icon, key, group)
            for name, view, icon, key, group in _NAVIGATION
        ]

    @cached_property
    def zones(self) -> Sequence[ZoneChoice]:
        return list_zone_choices()

    @cached_property
    def owners(self) -> Sequence[Owner]:
        return list(visible_owners(self._request.actor))

    @cached_property
    def scope(self) -> Scope:
        return read_scope(
            self._request.session.get(SESSION_KEY),
            zones={zone.id: zone.name for zone in self.zones},
            owners={owner.pk: owner.name for owner in self.owners},
        )


def frame_of(request: PageRequest) -> Frame:
    """Return the frame of the request, always the same one."""
    kept = getattr(request, "console_frame", None)
    if isinstance(kept, Frame):
        return kept
    fresh = Frame(request)
    request.console_frame = fresh  # type: ignore[attr-defined]
    return fresh


def frame(request: HttpRequest) -> Mapping[str, object]:
    """Context processor: the frame, for pages that entered by `infra.console.doors.page`."""
    if not hasattr(request, "actor"):
        return {}
    return {"frame": frame_of(cast("PageRequest", request)), "request_id": request_id()}


def limits_of(request: PageRequest) -> Limits:
    """Return the scope as reads take it: a zone means all zones inside it."""
    around = frame_of(request)
    scope = around.scope
    zone_ids = within(scope.zone_id, around.zones) if scope.zone_id else None
    return Limits(zone_ids=zone_ids, owner_id=scope.owner_id)
