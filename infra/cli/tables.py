"""Tables: columns and rows as text, for a terminal or for another program."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.cells import cell_len

if TYPE_CHECKING:
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

_GAP = "   "

_GOOD = ("running", "succeeded", "ready", "done", "active", "reachable")
_OPEN = (
    "queued", "reconciling", "unknown", "waiting", "changing", "unseen", "differs", "joining",
    "draining", "drained", "leaving", "deleting", "sent", "acknowledged", "paused", "unreachable",
)  # fmt: skip
_BAD = ("failed", "refused", "crashed")

STYLES: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(_GOOD, "green"),
        **dict.fromkeys(_OPEN, "yellow"),
        **dict.fromkeys(_BAD, "red"),
    }
)
"""Colours of state words. Not knowing is yellow and never red."""


@dataclass(frozen=True)
class Table:
    """Titles, and rows of as many cells, safe to print."""

    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def make_table(titles: Iterable[str], rows: Iterable[Sequence[str]]) -> Table:
    """Return the table of these rows; every row has a cell for each title."""
    return Table(tuple(titles), tuple(tuple(row) for row in rows))


def plain_lines(table: Table) -> list[str]:
    """Return the table in columns as wide as their widest cell, in terminal cells."""
    everything = (table.titles, *table.rows)
    widths = [
        max(cell_len(row[column]) for row in everything) for column in range(len(table.titles))
    ]
    return [_line(row, widths) for row in everything]


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)
    )
    return _GAP.join(padded).rstrip()


def rich_table(table: Table) -> RichTable:
    """Return the table for a terminal: it fits the width, and state words have colours."""
    from rich.table import Table as RichTable  # noqa: PLC0415  only where a terminal is

    made = RichTable(box=None, pad_edge=False, padding=(0, len(_GAP), 0, 0), header_style="bold")
    for title in table.titles:
        made.add_column(title, overflow="fold", no_wrap=title in {"NAME", "STATE", "AGE"})
    for row in table.rows:
        made.add_row(*(styled(cell) for cell in row))
    return made


def styled(cell: str) -> RichText:
    """Return the cell as text that is never read as markup."""
    from rich.text import Text  # noqa: PLC0415  only where a terminal is

    return Text(cell, style=STYLES.get(cell.partition(" ")[0], ""))
