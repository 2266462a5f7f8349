"""Lists that stay up to date: redrawn on a terminal, a line per change elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from infra.cli import clock
from infra.cli.changes import changes_of
from infra.cli.documents import Document, text
from infra.cli.kinds import Kind
from infra.cli.printing import Format, as_yaml, name_of, table_of
from infra.cli.tables import plain_lines, rich_table

if TYPE_CHECKING:
    from infra.cli.api import Api
    from infra.cli.output import Output

Look = Callable[[], Sequence[Document]]


def watch(api: Api, output: Output, kind: Kind, look: Look, form: Format) -> None:
    """Show the list for ever; Ctrl-C ends it. Raises Failure."""
    if output.is_terminal and form in {Format.TABLE, Format.WIDE}:
        _watch_living(api, output, kind, look, form)
    else:
        _watch_lines(api, output, kind, look, form)


def _watch_living(api: Api, output: Output, kind: Kind, look: Look, form: Format) -> None:
    with changes_of(api, output.say, kind.topics) as changes, output.living() as live:
        while True:
            table = table_of(kind, look(), wide=form == Format.WIDE, now=clock.now())
            live.update(rich_table(table), refresh=True)
            changes.wait()


def _watch_lines(api: Api, output: Output, kind: Kind, look: Look, form: Format) -> None:
    before: dict[str, Document] = {}
    titled = False
    with changes_of(api, output.say, kind.topics) as changes:
        while True:
            after = {text(document, "id"): document for document in look()}
            for line in changed_lines(kind, before, after, form, titled=titled):
                output.data(line)
            titled, before = titled or bool(after), after
            changes.wait()


def changed_lines(
    kind: Kind,
    before: Mapping[str, Document],
    after: Mapping[str, Document],
    form: Format,
    *,
    titled: bool,
) -> list[str]:
    """Return what is new or different, then what is gone, as lines. Pure but for the ages."""
    changed = [document for key, document in after.items() if before.get(key) != document]
    gone = [
        {**document, "state": "deleted"} for key, document in before.items() if key not in after
    ]
    documents = [*changed, *gone]
    if form == Format.JSON:
        return [json.dumps(document, ensure_ascii=False) for document in documents]
    if form == Format.YAML:
        return ["---\n" + as_yaml(document).rstrip("\n") for document in documents]
    if form == Format.NAME:
        return [name_of(kind, document) for document in documents]
    if not documents:
        return []
    lines = plain_lines(table_of(kind, documents, wide=form == Format.WIDE, now=clock.now()))
    return lines[1:] if titled else lines
