"""Breadcrumbs: the way to a page."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Crumb:
    """One place on the way; the last has no address."""

    name: str
    address: str = ""


def trail(*steps: tuple[str, str] | str) -> tuple[Crumb, ...]:
    """Return breadcrumbs from (name, view) pairs and a last name."""
    return tuple(
        Crumb(step) if isinstance(step, str) else Crumb(step[0], reverse(f"console:{step[1]}"))
        for step in steps
    )
