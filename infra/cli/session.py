"""What a command has at hand: its target, the API, and where words go."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from infra.cli import clock
from infra.cli.contexts import contexts_path, read_contexts
from infra.cli.output import Output
from infra.cli.target import Flags, Target, choose_target, find_local

if TYPE_CHECKING:
    from infra.cli.api import Api


@dataclass(frozen=True)
class Session:
    """One run of the command, before it has spoken to anybody."""

    flags: Flags = field(default_factory=Flags)
    key: str = ""
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    output: Output = field(
        default_factory=lambda: Output(sys.stdout, sys.stderr, os.environ), compare=False
    )

    @property
    def contexts_path(self) -> Path:
        return contexts_path(self.environment)

    def target(self) -> Target:
        """Return which installation is meant. Raises Failure."""
        contexts = read_contexts(self.contexts_path)
        return choose_target(self.flags, self.environment, contexts, find_local(self.environment))

    def api(self, target: Target | None = None) -> Api:
        """Return the API of the target; nothing is sent yet. Raises Failure."""
        from infra.cli.api import Api  # noqa: PLC0415  --help must not wait for an HTTP client

        return Api(target or self.target(), pause=clock.pause, say=self.output.say, key=self.key)


def session_of(context: typer.Context) -> Session:
    """Return the session that the command line opened."""
    found = context.find_object(Session)
    return found if found is not None else Session()
