"""Contexts: named installations with their tokens, in the user's own configuration folder."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from infra.cli.documents import mapping, text
from infra.cli.failures import ExitCode, Failure


@dataclass(frozen=True)
class Context:
    """One installation and who one is there."""

    url: str
    token: str = ""


@dataclass(frozen=True)
class Contexts:
    """All that is in the file. `current` is "" when none has been chosen."""

    current: str = ""
    known: Mapping[str, Context] = field(default_factory=dict)

    def with_context(self, name: str, context: Context) -> Contexts:
        return replace(self, current=name, known={**self.known, name: context})

    def with_current(self, name: str) -> Contexts:
        return replace(self, current=name)

    def without(self, name: str) -> Contexts:
        rest = {other: context for other, context in self.known.items() if other != name}
        return Contexts("" if self.current == name else self.current, rest)


def contexts_path(environment: Mapping[str, str]) -> Path:
    """Return where the user's contexts are kept."""
    folder = environment.get("XDG_CONFIG_HOME", "")
    return (Path(folder) if folder else Path.home() / ".config") / "infra" / "contexts.json"


def read_contexts(path: Path) -> Contexts:
    """Return the contexts; none when there is no file. Raises Failure when it cannot be read."""
    try:
        document = json.loads(path.read_text())
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValueError) as error:
        raise Failure(
            ExitCode.ERROR,
            f"The file of contexts cannot be read: {path}: {error}",
            advice="Repair it, or remove it and sign in again with: infra login",
        ) from error
    known = {
        name: Context(text(raw, "url"), text(raw, "token"))
        for name, raw in mapping(document, "contexts").items()
    }
    return Contexts(text(document, "current"), known)


def write_contexts(path: Path, contexts: Contexts) -> None:
    """Replace the file at once; nobody but the user may read it, from its first byte on."""
    document = {
        "current": contexts.current,
        "contexts": {
            name: {"url": context.url, "token": context.token}
            for name, context in contexts.known.items()
        },
    }
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.unlink(missing_ok=True)
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w") as file:
            file.write(json.dumps(document, indent=2) + "\n")
        draft.replace(path)
    except OSError as error:
        raise Failure(
            ExitCode.ERROR, f"The file of contexts cannot be written: {path}: {error}"
        ) from error
