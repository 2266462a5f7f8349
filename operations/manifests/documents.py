"""Manifest documents: read from YAML without trusting it, checked for their common form. Pure.

Errors point into the list of documents: `/2/spec/image` is in the third one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import yaml
from pydantic import Field, ValidationError

from inventory.errors import FieldError, Invalid, invalid
from inventory.specs.base import Spec, Text, field_errors

MAX_DOCUMENTS = 500
MAX_DEPTH = 32
MAX_NODES = 100_000
"""Far more than 500 large declarations have; a bound on the work of reading them."""

API_VERSION = "infra/v1"
Name = Annotated[Text, Field(min_length=1, max_length=400)]


class MetadataDocument(Spec):
    """What is said of an object beside its spec. Owner and zone by name or id."""

    name: Name
    owner: Name | None = None
    zone: Name | None = None
    labels: dict[str, str] = {}
    protected: bool = False


class ManifestDocument(Spec):
    """One declaration."""

    apiVersion: Literal["infra/v1"]  # noqa: N815  the word of the format, known from elsewhere
    kind: Name
    metadata: MetadataDocument
    spec: dict[str, object] = {}


@dataclass(frozen=True)
class Placed:
    """A document and its place in the list it came in."""

    index: int
    document: ManifestDocument

    @property
    def pointer(self) -> str:
        return f"/{self.index}"


def read_yaml(text: str) -> list[object]:
    """Return the documents of a YAML stream, empty ones left out. Raises Invalid.

    Only plain data is read: no tags, no anchors and aliases, no key twice, no dates.
    """
    try:
        _check_events(text)
        documents = list(yaml.load_all(text, Loader=_Plain))
    except yaml.YAMLError as error:
        raise invalid("", "yaml", f"This is not YAML: {_in_one_line(error)}") from None
    except RecursionError:
        raise _too_deep() from None
    return [document for document in documents if document is not None]


def read_documents(raw: Sequence[object]) -> list[Placed]:
    """Return the documents in their common form. Raises Invalid with all that is wrong."""
    if not raw:
        raise invalid("", "empty", "There is no document in this manifest.")
    if len(raw) > MAX_DOCUMENTS:
        raise invalid("", "too_many", f"At most {MAX_DOCUMENTS} documents; this has {len(raw)}.")
    placed: list[Placed] = []
    errors: list[FieldError] = []
    for index, document in enumerate(raw):
        try:
            placed.append(Placed(index, ManifestDocument.model_validate(document)))
        except ValidationError as error:
            errors.extend(field_errors(error, f"/{index}"))
    errors.extend(_twice(placed))
    if errors:
        raise Invalid(tuple(errors))
    return placed


def _twice(placed: Sequence[Placed]) -> list[FieldError]:
    seen: dict[tuple[str, str | None, str], int] = {}
    errors = []
    for each in placed:
        metadata = each.document.metadata
        key = (each.document.kind, metadata.owner, metadata.name)
        if key in seen:
            message = (
                f"{each.document.kind} {metadata.name} is declared by document {seen[key]} too."
            )
            errors.append(FieldError(f"{each.pointer}/metadata/name", "twice", message))
        seen.setdefault(key, each.index)
    return errors


class _Plain(yaml.SafeLoader):
    """Reads mappings without double keys, and what looks like a date as text."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


def _mapping(loader: _Plain, node: yaml.MappingNode) -> dict[str, object]:
    found: dict[str, object] = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if not isinstance(key, str):
            raise yaml.constructor.ConstructorError(
                None, None, "a key must be text", key_node.start_mark
            )
        if key in found:
            raise yaml.constructor.ConstructorError(
                None, None, f"the key {key!r} occurs twice", key_node.start_mark
            )
        found[key] = loader.construct_object(value_node, deep=True)
    return found


_Plain.add_constructor("tag:yaml.org,2002:map", _mapping)


def _check_events(text: str) -> None:
    """Raise Invalid for what would cost more than it says: aliases, depth, sheer number."""
    depth = documents = 0
    for nodes, event in enumerate(yaml.parse(text, Loader=yaml.SafeLoader)):
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise invalid("", "alias", "Anchors and aliases are not read; write it out.")
        documents += isinstance(event, yaml.DocumentStartEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise _too_deep()
        if nodes > MAX_NODES or documents > 2 * MAX_DOCUMENTS:
            raise invalid("", "too_many", "This manifest holds too much; apply it in parts.")


def _too_deep() -> Invalid:
    return invalid("", "too_deep", f"A document nests at most {MAX_DEPTH} deep.")


def _in_one_line(error: yaml.YAMLError) -> str:
    return " ".join(str(error).split())[:300]
