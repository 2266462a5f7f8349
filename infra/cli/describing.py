"""One object at length: facts first, then each of its parts; an operation in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from rich.cells import cell_len

from infra.cli.documents import Document, find, mapping, mappings, sequence, text
from infra.cli.kinds import Kind
from infra.cli.operations import title_of
from infra.cli.tables import make_table, plain_lines
from infra.cli.words import parse_time, plain, span

INDENT = "  "
WORDS = (
    ("Asked", "asked"),
    ("Sent", "sent"),
    ("Known", "known"),
    ("Unknown", "unknown"),
    ("Next", "next"),
    ("Safe", "safe"),
)
"""The parts of an operation's explanation, in the order in which they are asked for."""

STEP_TITLES = ("STEP", "STATE", "NODE", "TRIES", "TOOK", "MESSAGE")
CHILD_TITLES = ("NUMBER", "KIND", "OF", "STATE")
SPOKEN = frozenset({"explanation", "steps", "children", "journal"})
"""Parts of an operation that have sections of their own."""

FIRST = ("state", "lifecycle", "why", "conditions")
"""What is looked for first stands first."""

_AS_THEY_ARE = frozenset({"labels", "capabilities", "problems"})
"""Objects whose keys are names that people or agents gave."""

_ACRONYMS = {
    "id": "ID", "url": "URL", "sha256": "SHA-256", "vcpus": "vCPUs", "cpu": "CPU", "mib": "MiB",
    "gib": "GiB", "ssh": "SSH", "pem": "PEM",
}  # fmt: skip


def describe_lines(kind: Kind, document: Document, *, now: datetime) -> list[str]:
    """Return the object as lines, safe to print."""
    if kind.name == "operation":
        return list(_operation_lines(document, now))
    title = text(document, "name") or text(document, "id")
    return [f"{kind.name.capitalize()} {plain(title)}", *_parts(document, now)]


def _operation_lines(document: Document, now: datetime) -> Iterator[str]:
    yield plain(f"{title_of(document)}: {text(document, 'state')}")
    explanation = mapping(document, "explanation")
    for title, key in WORDS:
        for sentence in _sentences(find(explanation, key)):
            yield f"{INDENT}{title:<9}{plain(sentence)}"
            title = ""  # noqa: PLW2901  said once, above the first of its sentences
    steps = list(mappings(document, "steps"))
    if steps:
        yield from _section("Steps", plain_lines(make_table(STEP_TITLES, map(_step_row, steps))))
    children = list(mappings(document, "children"))
    if children:
        rows = [_child_row(child) for child in children]
        yield from _section("Parts", plain_lines(make_table(CHILD_TITLES, rows)))
    journal = list(mappings(document, "journal"))
    if journal:
        yield from _section("Journal", [_journal_line(line) for line in journal])
    facts = {key: value for key, value in document.items() if key not in SPOKEN}
    yield from _section("Facts", list(_parts(facts, now)), indent="")


def _sentences(value: object) -> list[str]:
    several = value if isinstance(value, list) else [value or ""]
    return [str(each) for each in several if each]


def _step_row(step: Document) -> tuple[str, ...]:
    words = text(step, "message") or text(step, "progress")
    cells = (
        text(step, "kind"), text(step, "state"), text(step, "node") or "-",
        text(step, "attempts"), _took(step), words,
    )  # fmt: skip
    return tuple(plain(cell) for cell in cells)


def _child_row(child: Document) -> tuple[str, ...]:
    keys = ("public_id", "kind", "resource_name", "state")
    return tuple(plain(text(child, key)) for key in keys)


def _took(step: Document) -> str:
    begun, ended = parse_time(text(step, "sent_at")), parse_time(text(step, "finished_at"))
    return span(ended - begun) if begun and ended else "-"


def _journal_line(line: Document) -> str:
    change = " -> ".join(filter(None, (text(line, "before"), text(line, "after"))))
    parts = (text(line, "at"), text(line, "event"), change, text(line, "because"))
    return plain("  ".join(filter(None, parts)))


def _section(title: str, lines: Sequence[str], *, indent: str = INDENT) -> Iterator[str]:
    yield ""
    yield title
    yield from (f"{indent}{line}" for line in lines)


def _parts(document: Document, now: datetime, *, above: str = "") -> Iterator[str]:
    """Yield the plain facts aligned, then every part that has more in it."""
    ordered = sorted(document.items(), key=lambda item: item[0] not in FIRST)
    facts = {_title(key): _value(value, now) for key, value in ordered if _is_plain(value)}
    yield from _facts(facts)
    for key, value in ordered:
        if _is_plain(value):
            continue
        title = f"{above} {key}".strip()
        lines = list(_names(value) if key in _AS_THEY_ARE else _inner(value, now, above=title))
        if lines:
            yield from _section(_title(title.replace(" ", "_")), lines, indent="")


def _facts(facts: Mapping[str, str]) -> Iterator[str]:
    told = {title: words for title, words in facts.items() if words}
    width = max(map(cell_len, told), default=0)
    for title, words in told.items():
        yield f"{INDENT}{title}{' ' * (width - cell_len(title))}  {words}"


def _names(value: object) -> Iterator[str]:
    """Yield an object whose keys are names, as they are."""
    facts = mapping(value)
    shown = {key: text(facts, key) if _is_plain(part) else str(part) for key, part in facts.items()}
    yield from _facts({plain(key): plain(words) for key, words in shown.items()})


def _inner(value: object, now: datetime, *, above: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        yield from _parts(mapping(value), now, above=above)
        return
    for number, item in enumerate(sequence({"of": value}, "of")):
        if number:
            yield ""
        yield from _parts(mapping(item), now, above=above)


def _is_plain(value: object) -> bool:
    """Return whether the value fits on a line: a reference, or no more than a list of words."""
    if isinstance(value, Mapping):
        return not value or _is_reference(value) or _is_amount(value)
    if isinstance(value, list):
        return not any(isinstance(item, Mapping | list) for item in value)
    return True


def _is_reference(value: Mapping[object, object]) -> bool:
    return set(value) <= {"id", "public_id", "name", "kind", "url"} and "name" in value


def _is_amount(value: Mapping[object, object]) -> bool:
    return set(value) == {"vcpus", "memory_mib", "disk_gib"}


def _value(value: object, now: datetime) -> str:
    if isinstance(value, Mapping):
        if _is_amount(value):
            return ", ".join(f"{value[key]} {unit}" for key, unit in _UNITS)
        return plain(str(value.get("name", "")))
    if isinstance(value, list):
        return plain(", ".join(str(item) for item in value))
    words = text({"of": value}, "of")
    moment = parse_time(words)
    if moment is not None:
        far = f"{span(now - moment)} ago" if moment <= now else f"in {span(moment - now)}"
        return f"{words} ({far})"
    return plain(words)


_UNITS = (("vcpus", "vCPUs"), ("memory_mib", "MiB"), ("disk_gib", "GiB"))


def _title(key: str) -> str:
    words = [_ACRONYMS.get(word, word) for word in key.split("_")]
    title = plain(" ".join(words))
    return title[:1].upper() + title[1:] if title[:1].islower() and title != "vCPUs" else title
