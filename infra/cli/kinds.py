"""The kinds a person can name, and how each is listed. One line per column. Pure.

A new kind of resource adds its columns to `infra.cli.columns` and one line to KINDS.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from types import MappingProxyType

from infra.cli import columns
from infra.cli.columns import Column
from infra.cli.documents import Document, text
from infra.cli.failures import usage


class Kind:
    """A kind: what it is called, where it is found, how it is listed."""

    def __init__(
        self,
        name: str,
        *shown: Column,
        path: str = "",
        aliases: tuple[str, ...] = (),
        topics: tuple[str, ...] = (),
        state: str = "state",
    ) -> None:
        """`path` is the part of the API's address; `topics` are the events that change a row.

        `state` is the field, and the filter, that has the word for how it stands.
        """
        self.name = name
        self.plural = path or f"{name}s"
        self.path = path or f"{name}s"
        self.aliases = aliases
        self.topics = topics or (name, "operation")
        self.state = state
        self.columns = shown

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name, self.plural, *self.aliases)


KINDS: tuple[Kind, ...] = (
    Kind("droplet", *columns.DROPLET, aliases=("d",), topics=("droplet", "operation", "node")),
    Kind("image", *columns.IMAGE),
    Kind("sshkey", *columns.SSH_KEY, aliases=("key", "keys")),
    Kind("resource", *columns.RESOURCE, aliases=("res",), topics=("droplet", "image", "sshkey")),
    Kind("node", *columns.NODE, topics=("node", "droplet"), state="lifecycle"),
    Kind("zone", *columns.ZONE),
    Kind("owner", *columns.OWNER),
    Kind("operation", *columns.OPERATION, aliases=("op", "ops"), topics=("operation",)),
    Kind("found", *columns.FOUND, path="found", topics=("found", "node")),
    Kind("token", *columns.TOKEN),
    Kind("audit", *columns.AUDIT, path="audit", topics=("audit", "operation")),
)

BY_NAME: Mapping[str, Kind] = MappingProxyType(
    {name: kind for kind in KINDS for name in kind.names}
)


def find_kind(word: str) -> Kind:
    """Return the kind a person means. Raises Failure, with what was probably meant."""
    kind = BY_NAME.get(word.lower())
    if kind is not None:
        return kind
    near = difflib.get_close_matches(word.lower(), BY_NAME, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    known = ", ".join(kind.plural for kind in KINDS)
    raise usage(f"There is no kind {word!r}.{meant}", advice=f"Kinds are: {known}.")


def kind_of(document: Document) -> str:
    """Return the kind a document says it is of; "" when that is no kind a person can name."""
    word = text(document, "kind").lower()
    return BY_NAME[word].name if word in BY_NAME else ""
