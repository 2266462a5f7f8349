"""Objects on standard output, in the form that was asked for."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from infra.cli.documents import Document, text
from infra.cli.kinds import Kind, kind_of
from infra.cli.output import Output
from infra.cli.tables import Table, make_table
from infra.cli.words import plain


class Format(StrEnum):
    """How objects are written."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    YAML = "yaml"
    NAME = "name"


def table_of(kind: Kind, documents: Iterable[Document], *, wide: bool, now: datetime) -> Table:
    """Return the objects as a table. Pure."""
    shown = [column for column in kind.columns if wide or not column.wide]
    rows = [[plain(column.cell(document, now)) for column in shown] for document in documents]
    return make_table((column.title for column in shown), rows)


def name_of(kind: Kind, document: Document) -> str:
    """Return `kind/name`, which every command takes back; operations go by number. Pure."""
    if kind.name == "operation":
        return f"operation/{text(document, 'public_id')}"
    name = text(document, "name") or text(document, "id")
    return f"{kind_of(document) or kind.name}/{plain(name)}"


def print_list(
    output: Output, kind: Kind, documents: Sequence[Document], form: Format, *, now: datetime
) -> None:
    """Write a list; an empty one is said so to the person, and is empty to a program."""
    if form == Format.JSON:
        output.data(as_json(list(documents)))
    elif form == Format.YAML:
        output.data(as_yaml(list(documents)).rstrip("\n"))
    elif form == Format.NAME:
        for document in documents:
            output.data(name_of(kind, document))
    elif documents:
        output.table(table_of(kind, documents, wide=form == Format.WIDE, now=now))
    else:
        output.say(f"No {kind.plural} found.")


def print_object(
    output: Output, kind: Kind, document: Document, form: Format, *, now: datetime
) -> None:
    """Write one object."""
    if form == Format.JSON:
        output.data(as_json(document))
    elif form == Format.YAML:
        output.data(as_yaml(document).rstrip("\n"))
    else:
        print_list(output, kind, [document], form, now=now)


def as_json(value: object) -> str:
    """Return the value as JSON for people and programs alike."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def as_yaml(value: object) -> str:
    """Return the value as YAML in the order the server gave it."""
    import yaml  # noqa: PLC0415  most commands write none

    written: str = yaml.safe_dump(
        json.loads(json.dumps(value)), sort_keys=False, allow_unicode=True, width=100
    )
    return written
