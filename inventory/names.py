"""Names people give, and the host names derived from them. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from uuid import UUID

MAX_NAME_LENGTH = 100
"""Long enough for a sentence, short enough for a table cell and for a unique index."""

MAX_HOSTNAME_LENGTH = 63
"""One DNS label (RFC 1035)."""

_BIDI_CONTROLS = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
)
_HOSTNAME_GAPS = re.compile(r"[^a-z0-9]+")
_DIGEST_LENGTH = 8


class InvalidName(ValueError):
    """A name that cannot be accepted; the text says which rule it breaks."""


def normalize_name(raw: str) -> str:
    """Return the name in NFC, trimmed. Raises InvalidName.

    Control, format-override and unassigned characters are refused: two names that look alike in a
    list must not be able to differ, nor a name rewrite the line it stands in.
    """
    name = unicodedata.normalize("NFC", raw).strip()
    if not name:
        raise InvalidName("A name needs at least one visible character.")
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(f"A name has at most {MAX_NAME_LENGTH} characters; this has {len(name)}.")
    for position, character in enumerate(name):
        _check_character(character, position)
    if name in {".", ".."}:
        raise InvalidName(f"A name cannot be {name!r}: in an address it means another place.")
    if _is_id(name):
        raise InvalidName("A name cannot be an id: what has it could not be found by its name.")
    return name


def _is_id(name: str) -> bool:
    try:
        UUID(name)
    except ValueError:
        return False
    return True


def _check_character(character: str, position: int) -> None:
    code = f"U+{ord(character):04X}"
    if character in _BIDI_CONTROLS:
        raise InvalidName(f"Character {code} at position {position} changes the text direction.")
    category = unicodedata.category(character)
    if category in {"Cc", "Cs", "Cn", "Co", "Zl", "Zp"} or code in {"U+200B", "U+FEFF", "U+2060"}:
        raise InvalidName(f"Character {code} at position {position} cannot be seen or printed.")
    if character == "/":
        raise InvalidName("A name cannot contain '/': it separates parts of an address.")


def hostname_for(name: str) -> str:
    """Return a safe DNS label for a name; a digest keeps names apart that have no ASCII form."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    label = _HOSTNAME_GAPS.sub("-", plain).strip("-")[:MAX_HOSTNAME_LENGTH].strip("-")
    if (
        label
        and plain == name.lower()
        and label == _HOSTNAME_GAPS.sub("-", name.lower()).strip("-")
    ):
        return label
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST_LENGTH]
    stem = label[: MAX_HOSTNAME_LENGTH - _DIGEST_LENGTH - 1].strip("-") or "droplet"
    return f"{stem}-{digest}"
