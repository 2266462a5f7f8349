"""Reading request bodies without trusting them: size, depth, numbers, text. Pure.

What PostgreSQL or UTF-8 could not hold is refused here, with a pointer where there is one.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import NoReturn

from inventory.errors import FieldError, InfraError, Invalid, invalid

MAX_BODY_BYTES = 2 * 1024 * 1024
"""A droplet with the largest user data has 70 KiB; a manifest of hundreds of objects fits."""

MAX_DEPTH = 32
MAX_INTEGER_DIGITS = 18
"""Fits a PostgreSQL bigint; nothing we keep needs more."""

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Malformed(InfraError):
    """The body is not what its content type says. Nothing was read of it."""

    code = "malformed"
    title = "The body cannot be read"


def parse_json(body: bytes) -> object:
    """Return the document. Raises Malformed, or Invalid for values that cannot be kept."""
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Malformed(f"The body is not UTF-8: byte {error.start} begins no character.") from None
    try:
        document = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_float=_float,
            parse_int=_integer,
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise Malformed(f"The body is not JSON: {error.msg} ({place}).") from None
    except RecursionError:
        raise Malformed(f"The body nests deeper than {MAX_DEPTH} levels.") from None
    except ValueError as error:
        raise Malformed(f"The body is not JSON that can be kept: {error}") from None
    check_storable(document)
    return document


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found:
            shown = key[:100].encode("ascii", "backslashreplace").decode()
            raise ValueError(f"the key {shown!r} occurs twice in one object.")
        found[key] = value
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON.")


def _float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large.")
    return value


def _integer(text: str) -> int:
    if len(text.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise ValueError(f"a whole number has more than {MAX_INTEGER_DIGITS} digits.")
    return int(text)


def check_storable(document: object) -> None:
    """Raise Invalid unless every text can be stored, and Malformed when it nests too deep."""
    for pointer, value in _texts(document):
        found = _UNSTORABLE.search(value)
        if found is None:
            continue
        code = f"U+{ord(found[0]):04X}"
        what = "A NUL character" if found[0] == "\x00" else f"The lone surrogate {code}"
        raise invalid(pointer, "text", f"{what} cannot be stored.")


def is_storable(text: str) -> bool:
    """Return whether PostgreSQL and UTF-8 can hold the text."""
    return _UNSTORABLE.search(text) is None


def _texts(document: object) -> Iterator[tuple[str, str]]:
    """Yield every key and text with its pointer, without recursion."""
    waiting: list[tuple[str, object, int]] = [("", document, 0)]
    while waiting:
        pointer, value, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise Malformed(f"The body nests deeper than {MAX_DEPTH} levels.")
        if isinstance(value, str):
            yield pointer, value
        elif isinstance(value, dict):
            for key, part in value.items():
                yield pointer, key
                waiting.append((f"{pointer}/{escape(key)}", part, depth + 1))
        elif isinstance(value, list):
            waiting.extend(
                (f"{pointer}/{index}", part, depth + 1) for index, part in enumerate(value)
            )


def escape(key: str) -> str:
    """Return a key as a part of a JSON pointer (RFC 6901), shortened if it is very long."""
    plain = key[:100].encode("ascii", "backslashreplace").decode()
    return plain.replace("~", "~0").replace("/", "~1")


def check_is_object(document: object) -> dict[str, object]:
    """Return the document if it is an object. Raises Invalid."""
    if isinstance(document, dict):
        return document
    raise Invalid((FieldError("", "type", "The body must be a JSON object."),))
