"""Form fields: label, control, help and what is wrong with it, tied together for everyone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

from django import template

from infra.console.refusals import Refusal

register = template.Library()


class FieldContext(TypedDict):
    """What the field's template takes."""

    name: str
    label: str
    kind: str
    value: object
    help: str
    error: str
    required: bool
    attributes: Mapping[str, object]


def _field(
    context: template.Context, name: str, label: str, kind: str, hint: str, **more: object
) -> FieldContext:
    values = context.get("values", {})
    refusal = context.get("refusal")
    error = refusal.fields.get(name, "") if isinstance(refusal, Refusal) else ""
    required = bool(more.pop("required", False))
    return FieldContext(
        name=name,
        label=label,
        kind=kind,
        value=values.get(name, "") if isinstance(values, Mapping) else "",
        help=hint,
        error=error,
        required=required,
        attributes={key.replace("_", "-"): value for key, value in more.items()},
    )


@register.inclusion_tag("includes/field.html", takes_context=True)
def field(
    context: template.Context,
    name: str,
    label: str,
    kind: str = "text",
    hint: str = "",
    **more: object,
) -> FieldContext:
    """Return a text, number or password field; `kind` is the type of input, or `area`."""
    return _field(context, name, label, kind, hint, **more)
