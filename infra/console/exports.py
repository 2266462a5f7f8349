"""Lists as files: exactly what is filtered, in the order shown, all pages."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence

from django.http import HttpResponse

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would run a cell that starts so; a name may, and is data."""

Record = dict[str, object]


def csv_file(name: str, columns: Sequence[str], records: Iterable[Record]) -> HttpResponse:
    """Return the records as a CSV file (RFC 4180, UTF-8)."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    for record in records:
        writer.writerow([_cell(record.get(column)) for column in columns])
    return _attachment(text.getvalue(), f"{name}.csv", "text/csv; charset=utf-8")


def json_file(name: str, records: Iterable[Record]) -> HttpResponse:
    """Return the records as a JSON array."""
    text = json.dumps(list(records), ensure_ascii=False, indent=1, default=str)
    return _attachment(text + "\n", f"{name}.json", "application/json")


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = str(value)
    return f"'{text}" if text.startswith(FORMULA_STARTS) else text


def _attachment(text: str, name: str, content_type: str) -> HttpResponse:
    response = HttpResponse(text, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
