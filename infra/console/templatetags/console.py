"""Tags the pages share: drawings, states, times, sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TypedDict

from django import template
from django.http import HttpRequest
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from infra.console.states import look_of
from inventory.capacity import allocatable
from inventory.models import Node, Resource
from inventory.reads.zones import ZoneRow
from operations.models import Operation
from operations.reads import waiting_words
from operations.scheduling.values import REASON_TEXT, Reason

register = template.Library()

SPRITE = "vendor/tabler-icons/icons.svg"
KIB = 1024
METER_HIGH = 0.8
"""From here on an operator should plan for more; at 1 nothing more fits."""


@register.simple_tag
def icon(name: str, classes: str = "") -> SafeString:
    """Return a drawing from the sprite. It is decoration: words stand beside it."""
    return format_html(
        '<svg class="icon {}" aria-hidden="true"><use href="{}#{}"></use></svg>',
        classes,
        static(SPRITE),
        name,
    )


@register.simple_tag
def badge(state: str, of: str = "", word: str = "") -> SafeString:
    """Return a state as a pill: tone, drawing, word."""
    look = look_of(state, of=of)
    drawing = icon(look.icon, "icon-turning" if look.turning else "")
    return format_html(
        '<span class="state tone-{}" data-state="{}">{}<span>{}</span></span>',
        look.tone,
        state,
        drawing,
        word or look.word,
    )


@register.simple_tag
def state_icon(state: str, of: str = "") -> SafeString:
    """Return only the drawing of a state, for places where the word stands next to it."""
    look = look_of(state, of=of)
    return icon(look.icon, "icon-turning" if look.turning else "")


@register.filter
def tone(state: str) -> str:
    """Return the tone of a state."""
    return look_of(state).tone


@register.simple_tag
def moment(at: datetime | None, mode: str = "age") -> SafeString | str:
    """Return a time that the browser shows in the viewer's zone; UTC where there is no script.

    `mode` is `age`, `clock`, `exact` or `running` (how long since).
    """
    if at is None:
        return "never"
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-time="{}" title="{}">{}</time>',
        utc.isoformat().replace("+00:00", "Z"),
        mode,
        utc.isoformat(sep=" ", timespec="milliseconds").replace("+00:00", " UTC"),
        utc.strftime("%Y-%m-%d %H:%M UTC"),
    )


@register.filter
def span(length: timedelta | float | None) -> str:
    """Return a duration in words a person reads at a glance."""
    if length is None:
        return ""
    seconds = length.total_seconds() if isinstance(length, timedelta) else float(length)
    if seconds < 1:
        return f"{round(seconds * 1000)} ms"
    if seconds < 60:  # noqa: PLR2004 - seconds in a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours >= 24:  # noqa: PLR2004 - hours in a day
        return f"{hours // 24} d {hours % 24} h"
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _scaled(amount: float, unit: str, larger: str) -> str:
    if amount >= KIB:
        return f"{amount / KIB:.4g} {larger}"
    return f"{amount:.4g} {unit}"


@register.filter
def mib(amount: float | None) -> str:
    """Return an amount given in MiB."""
    return "" if amount is None else _scaled(float(amount), "MiB", "GiB")


@register.filter
def gib(amount: float | None) -> str:
    """Return an amount given in GiB."""
    return "" if amount is None else _scaled(float(amount), "GiB", "TiB")


@register.filter
def size(amount: int | None) -> str:
    """Return an amount given in bytes."""
    if amount is None:
        return ""
    value = float(amount)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < KIB:
            return f"{value:.4g} {unit}"
        value /= KIB
    return f"{value:.4g} TiB"


@register.filter
def pretty_json(value: object) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False, sort_keys=True, default=str)


@register.filter
def words(name: str) -> str:
    """Return a program's word as a person writes it."""
    return str(name).replace("_", " ").replace("-", " ")


@register.filter
def item(mapping: Mapping[str, object], key: str) -> object:
    """Return one entry of a mapping, or an empty text."""
    return mapping.get(key, "")


class MeterContext(TypedDict):
    """What the meter's template takes."""

    label: str
    used: str
    total: str
    width: float
    percent: int
    level: str


@register.inclusion_tag("includes/meter.html")
def meter(label: str, used: int, total: int, unit: str = "") -> MeterContext:
    """Return a bar of how much of `total` is used. Units: "", "mib", "gib"."""
    share = used / total if total else 0.0
    write = {"mib": mib, "gib": gib}.get(unit, str)
    level = "meter-full" if share >= 1 else "meter-high" if share >= METER_HIGH else ""
    return MeterContext(
        label=label,
        used=write(used),
        total=write(total),
        width=round(min(share, 1) * 100, 1),
        percent=round(share * 100),
        level=level,
    )


@register.simple_tag(takes_context=True)
def here(context: template.Context, prefix: str) -> SafeString | str:
    """Return `aria-current` when the page lies under the address; the front page only by itself."""
    request = context.get("request")
    if not isinstance(request, HttpRequest):
        return ""
    current = request.path == prefix if prefix == "/" else request.path.startswith(prefix)
    return format_html(' aria-current="{}"', "page") if current else ""


@register.filter
def verb(kind: str) -> str:
    """Return what an operation does, as the first word: "Resize" of droplet.resize."""
    return kind.rpartition(".")[2].replace("_", " ").capitalize()


@register.filter
def took(operation: Operation) -> str:
    """Return how long a finished operation took."""
    if operation.finished_at is None:
        return ""
    return span(operation.finished_at - operation.created_at)


@register.filter
def waiting(waiting_on: object) -> str:
    """Return in a sentence what an operation waits for."""
    return waiting_words(waiting_on)


_DRAWINGS = {"droplet": "droplet", "image": "disc", "sshkey": "key", "node": "server-2"}


@register.filter
def drawing(kind: str) -> str:
    """Return the icon of a kind of object."""
    return _DRAWINGS.get(kind, "circle")


@register.filter
def address(resource: Resource) -> str:
    """Return the address of a resource's page."""
    return reverse(f"console:{resource.kind}", args=[resource.pk])


@register.filter
def key(node: Node) -> str:
    """Return what names a node in an address: its name, or its id once the name is free again."""
    return str(node.pk) if node.lifecycle == "left" else node.name


@register.inclusion_tag("includes/room.html")
def room(node: Node, part: str) -> MeterContext:
    """Return how much of one part of a node is promised, of what may be, in a table's cell."""
    used = getattr(node.used, part)
    total = getattr(allocatable(node.capacity, node.over_commit), part)
    unit = {"memory_mib": "mib", "disk_gib": "gib"}.get(part, "")
    return meter("", used, total, unit)


@register.filter
def operation_tone(state: str) -> str:
    """Return the tone of an operation's state."""
    return look_of(state, of="operation").tone


@register.filter
def state_word(state: str) -> str:
    """Return the word of a state."""
    return look_of(state).word


@register.inclusion_tag("includes/room.html")
def share(used: int, total: int, unit: str = "") -> MeterContext:
    """Return how much of a sum is promised, in a table's cell."""
    return meter("", used, total, unit)


@register.filter
def node_words(row: ZoneRow) -> str:
    """Return how many nodes of a zone report."""
    return "1 node reports" if row.nodes == 1 else f"{row.nodes} nodes report"


@register.filter
def silent_words(row: ZoneRow) -> str:
    """Return how many nodes of a zone do not report."""
    return f"{row.unreachable} of {row.nodes} unreachable"


@register.inclusion_tag("includes/explanation.html")
def explain(explanation: object) -> Mapping[str, object]:
    """Return why a droplet stands on its node: the sentence, and the nodes that were refused."""
    return {"explanation": explanation if isinstance(explanation, Mapping) else {}}


@register.filter
def refusal_words(reason: str) -> str:
    """Return why placement passed nodes over."""
    try:
        return REASON_TEXT[Reason(reason)]
    except ValueError:
        return reason
