"""Reading manifests, and naming their errors by file rather than by position."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from infra.cli.documents import Document, mapping, text
from infra.cli.failures import Failure, FieldTrouble, usage

SUFFIXES = frozenset({".yaml", ".yml", ".json"})
STANDARD_INPUT = "-"


@dataclass(frozen=True)
class Manifest:
    """One document, and in words where it stands."""

    document: Document
    place: str

    @property
    def title(self) -> str:
        return f"{text(self.document, 'kind')} {text(self.document, 'metadata', 'name')}".strip()


def read_manifests(names: Iterable[str]) -> list[Manifest]:
    """Return the documents of files, folders and the input, in order. Raises Failure."""
    found = [
        manifest for name in names for place, raw in _texts(name) for manifest in parse(raw, place)
    ]
    if not found:
        raise usage("There is no document in what was named with -f.")
    return found


def parse(raw: str, place: str) -> list[Manifest]:
    """Return the documents of a text; empty ones are left out. Raises Failure."""
    try:
        documents = list(yaml.safe_load_all(raw))
        documents = json.loads(json.dumps(documents, default=str))  # dates are text to the API
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise usage(f"{place} is not YAML: {' '.join(str(error).split())}") from error
    manifests = []
    for number, document in enumerate(documents, start=1):
        where = place if len(documents) == 1 else f"{place}, document {number}"
        if document is None:
            continue
        if not isinstance(document, dict):
            raise usage(f"{where} is no object with apiVersion, kind, metadata and spec.")
        manifests.append(Manifest(mapping(document), where))
    return manifests


def placed(failure: Failure, manifests: Sequence[Manifest], root: str) -> Failure:
    """Return the failure with its pointers named by file and object (pure).

    `root` is where the list of documents stands in the request, such as `/manifests`.
    """
    fields = tuple(_placed(field, manifests, f"{root}/") for field in failure.fields)
    return replace(failure, fields=fields)


def _placed(field: FieldTrouble, manifests: Sequence[Manifest], root: str) -> FieldTrouble:
    number, _, rest = field.pointer.removeprefix(root).partition("/")
    if not field.pointer.startswith(root) or not number.isdecimal():
        return field
    if int(number) >= len(manifests):
        return field
    manifest = manifests[int(number)]
    return FieldTrouble(f"{manifest.place} ({manifest.title}): /{rest}", field.message)


def _texts(name: str) -> list[tuple[str, str]]:
    if name == STANDARD_INPUT:
        return [("standard input", sys.stdin.read())]
    if name.startswith(("http://", "https://")):
        raise usage(
            f"{name} is an address; manifests are read from files.",
            advice=f"Look at it first: curl -sf {name} | infra apply -f -",
        )
    path = Path(name)
    try:
        if not path.is_dir():
            return [(name, path.read_text(encoding="utf-8"))]
        files = sorted(file for file in path.rglob("*") if file.suffix in SUFFIXES)
        if not files:
            raise usage(f"{name} holds no file that ends in {', '.join(sorted(SUFFIXES))}.")
        return [(str(file), file.read_text(encoding="utf-8")) for file in files]
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{name} cannot be read: {error}") from error
