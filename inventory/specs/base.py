"""What all specs share: strictness, labels, and how pydantic's complaints become ours. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from inventory.errors import FieldError, Invalid, invalid
from inventory.names import InvalidName, normalize_name

MAX_LABELS = 32
_LABEL_KEY = re.compile(r"^[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?$")
_LABEL_VALUE = re.compile(r"^[A-Za-z0-9._:/@+-]{0,63}$")


class Spec(BaseModel):
    """Base of all specs: an unknown field is an error, since a typing slip must not be obeyed."""

    model_config = ConfigDict(frozen=True, extra="forbid", str_strip_whitespace=False)


def _plain_text(value: str) -> str:
    if "\x00" in value:
        raise ValueError("a NUL character cannot be stored")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError("a lone surrogate is not text") from None
    return value


Text = Annotated[str, AfterValidator(_plain_text)]
"""Text that PostgreSQL and UTF-8 can hold."""

Reference = Annotated[Text, Field(min_length=1, max_length=100)]
"""The name or id of another resource of the same owner."""

SpecType = TypeVar("SpecType", bound=Spec)


def parse_spec(spec_type: type[SpecType], document: object, *, pointer: str = "/spec") -> SpecType:
    """Return the document as a spec. Raises Invalid with a pointer for each field in error."""
    try:
        return spec_type.model_validate(document)
    except ValidationError as error:
        raise Invalid(field_errors(error, pointer)) from None


def field_errors(error: ValidationError, pointer: str) -> tuple[FieldError, ...]:
    """Return pydantic's complaints with JSON pointers, without echoing what was sent."""
    return tuple(
        FieldError(
            pointer + "".join(f"/{_escape(part)}" for part in item["loc"]),
            item["type"],
            item["msg"],
        )
        for item in error.errors(include_input=False, include_url=False, include_context=False)
    )


def _escape(part: int | str) -> str:
    return str(part).replace("~", "~0").replace("/", "~1")


def check_name(raw: str, *, pointer: str = "/name") -> str:
    """Return the normalised name. Raises Invalid."""
    try:
        return normalize_name(raw)
    except InvalidName as error:
        raise invalid(pointer, "name", str(error)) from None


def check_resource_name(raw: str, *, pointer: str = "/name") -> str:
    """Return the normalised name. Raises Invalid, also for what reads as a public number."""
    name = check_name(raw, pointer=pointer)
    if name.isdecimal():
        message = "A name of digits only would be taken for the public number of another resource."
        raise invalid(pointer, "name", message)
    return name


def check_labels(labels: Mapping[str, object], *, pointer: str = "/labels") -> dict[str, str]:
    """Return the labels when every key and value is plain and short. Raises Invalid."""
    if len(labels) > MAX_LABELS:
        raise invalid(pointer, "too_many", f"At most {MAX_LABELS} labels; this has {len(labels)}.")
    checked: dict[str, str] = {}
    for key, value in labels.items():
        where = f"{pointer}/{_escape(str(key))[:100]}"
        if not _LABEL_KEY.fullmatch(key):
            message = "A label key has 1-63 letters, digits and . _ / -, at the ends no sign."
            raise invalid(where, "label_key", message)
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            message = "A label value has at most 63 letters, digits and . _ : / @ + -."
            raise invalid(where, "label_value", message)
        checked[key] = value
    return checked
