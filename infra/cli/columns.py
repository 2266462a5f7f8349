"""What each kind shows in a list: a title, and a cell made from a document and the time. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from infra.cli.documents import Document, find, mapping, number, sequence, text
from infra.cli.words import MISSING, age, labels, mebibytes, or_missing, parse_time, size, span


@dataclass(frozen=True)
class Column:
    """One column; a wide one is shown with `-o wide` only."""

    title: str
    cell: Callable[[Document, datetime], str]
    wide: bool = False


def field(title: str, *path: str, wide: bool = False) -> Column:
    """Return a column of the text at a path."""
    return Column(title, lambda document, _now: or_missing(text(document, *path)), wide)


def reference(title: str, key: str, *, wide: bool = False) -> Column:
    """Return a column of the name of what the document refers to."""
    return Column(title, lambda document, _now: or_missing(referred(document, key)), wide)


def referred(document: Document, key: str) -> str:
    """Return the name of what is referred to, given as an object or as a name."""
    value = find(document, key)
    return text(value, "name") if isinstance(value, dict) else text(document, key)


def aged(title: str, *path: str, wide: bool = False) -> Column:
    """Return a column that says how long ago a moment was."""
    return Column(title, lambda document, now: age(text(document, *path), now), wide)


def amount(title: str, show: Callable[[int], str], *path: str, wide: bool = False) -> Column:
    """Return a column of a number in its unit."""
    return Column(title, lambda document, _now: show(number(document, *path)), wide)


def _labels(document: Document, _now: datetime) -> str:
    return labels(mapping(document, "labels"))


def _addresses(document: Document, _now: datetime) -> str:
    found = sequence(document, "observed", "addresses")
    return ", ".join(str(address) for address in found) or MISSING


def _scopes(document: Document, _now: datetime) -> str:
    return ",".join(str(scope) for scope in sequence(document, "scopes")) or MISSING


def _expires(document: Document, now: datetime) -> str:
    moment = parse_time(text(document, "expires_at"))
    if moment is None:
        return "never"
    return f"in {span(moment - now)}" if moment > now else "expired"


def _conditions(document: Document, _now: datetime) -> str:
    kinds = [text(found, "kind") for found in sequence(document, "conditions")]
    return ",".join(kinds) or MISSING


def _used(part: str, show: Callable[[int], str]) -> Callable[[Document, datetime], str]:
    def cell(document: Document, _now: datetime) -> str:
        used, all_of_it = number(document, "used", part), number(document, "allocatable", part)
        return f"{show(used)} / {show(all_of_it)}" if all_of_it else MISSING

    return cell


def _gibibytes(count: int) -> str:
    return f"{count} GiB"


_ID = field("ID", "id", wide=True)
_NUMBER = field("NUMBER", "public_id", wide=True)
_OWNER = reference("OWNER", "owner", wide=True)
_LABELS = Column("LABELS", _labels, wide=True)
_AGE = aged("AGE", "created_at")

DROPLET = (
    field("NAME", "name"),
    field("STATE", "state"),
    reference("NODE", "node"),
    reference("ZONE", "zone"),
    amount("VCPUS", str, "spec", "vcpus"),
    amount("MEMORY", mebibytes, "spec", "memory_mib"),
    amount("DISK", _gibibytes, "spec", "disk_gib"),
    reference("IMAGE", "image"),
    _AGE,
    Column("ADDRESSES", _addresses, wide=True),
    _OWNER,
    _LABELS,
    _NUMBER,
    _ID,
)
IMAGE = (
    field("NAME", "name"),
    field("FORMAT", "spec", "format"),
    amount("SIZE", size, "spec", "size_bytes"),
    amount("MIN-DISK", _gibibytes, "spec", "min_disk_gib"),
    _AGE,
    field("SHA256", "spec", "sha256", wide=True),
    field("URL", "spec", "url", wide=True),
    _OWNER,
    _LABELS,
    _NUMBER,
    _ID,
)
SSH_KEY = (
    field("NAME", "name"),
    field("FINGERPRINT", "fingerprint"),
    _AGE,
    _OWNER,
    _LABELS,
    _NUMBER,
    _ID,
)
RESOURCE = (
    field("KIND", "kind"),
    field("NAME", "name"),
    reference("OWNER", "owner"),
    reference("ZONE", "zone"),
    field("GENERATION", "generation"),
    _AGE,
    _LABELS,
    _NUMBER,
    _ID,
)
NODE = (
    field("NAME", "name"),
    field("STATE", "lifecycle"),
    Column("CONDITIONS", _conditions),
    reference("ZONE", "zone"),
    Column("VCPUS", _used("vcpus", str)),
    Column("MEMORY", _used("memory_mib", mebibytes)),
    Column("DISK", _used("disk_gib", _gibibytes)),
    aged("SEEN", "last_seen"),
    field("ADDRESS", "address", wide=True),
    field("AGENT", "agent_version", wide=True),
    _LABELS,
    _ID,
)
ZONE = (
    field("NAME", "name"),
    reference("PARENT", "parent"),
    field("KIND", "kind_label"),
    field("JURISDICTION", "jurisdiction"),
    _AGE,
    _LABELS,
    _ID,
)
OWNER = (field("NAME", "name"), field("DEFAULT", "is_default"), _AGE, _ID)
OPERATION = (
    field("NUMBER", "public_id"),
    field("KIND", "kind"),
    field("OF", "resource_name"),
    field("STATE", "state"),
    field("CAUSE", "cause"),
    field("BY", "actor"),
    _AGE,
    _OWNER,
    _ID,
)
FOUND = (
    field("NAME", "name"),
    reference("NODE", "node"),
    field("STATE", "power"),
    amount("VCPUS", str, "vcpus"),
    amount("MEMORY", mebibytes, "memory_mib"),
    aged("SEEN", "last_seen"),
    field("NATIVE-ID", "native_id", wide=True),
)
TOKEN = (
    field("NAME", "name"),
    field("PREFIX", "prefix"),
    Column("SCOPES", _scopes),
    aged("USED", "last_used_at"),
    Column("EXPIRES", _expires),
    _AGE,
    _ID,
)
AUDIT = (
    field("AT", "at"),
    field("BY", "actor"),
    field("ACTION", "action"),
    field("KIND", "object_kind"),
    field("NAME", "object_name"),
    field("REASON", "reason"),
    field("REQUEST", "request_id", wide=True),
)
