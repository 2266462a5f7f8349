"""Which installation is spoken to, and as whom.

Flags win over the environment, that over the contexts, those over an installation that runs from
this checkout. A token is only ever used with the address it belongs to.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from infra.bootstrap.places import Places, default_data_dir
from infra.cli.contexts import Context, Contexts
from infra.cli.documents import number, text
from infra.cli.failures import Failure, usage

DEFAULT_URL = "http://127.0.0.1:8000"
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True)
class Target:
    """An address and a token ("" for none), and in words where they were found."""

    url: str
    token: str
    source: str

    @property
    def is_loopback(self) -> bool:
        return (urlsplit(self.url).hostname or "") in LOOPBACK


@dataclass(frozen=True)
class Flags:
    """What the command line says; "" for what it does not."""

    url: str = ""
    token: str = ""
    context: str = ""


def choose_target(
    flags: Flags,
    environment: Mapping[str, str],
    contexts: Contexts,
    local: Context | None,
) -> Target:
    """Return the target (pure). Raises Failure for a context that does not exist, a bad URL."""
    if flags.context:
        chosen = _named(contexts, flags.context)
        return _target(flags.url or chosen.url, flags.token or chosen.token, "--context")
    url = flags.url or environment.get("INFRA_URL", "")
    token = flags.token or environment.get("INFRA_TOKEN", "")
    if url:
        source = "--url" if flags.url else "INFRA_URL"
        return _target(url, token or _token_for(url, contexts, local), source)
    if local is not None and environment.get("INFRA_DATA_DIR"):
        return _target(local.url, token or local.token, "INFRA_DATA_DIR")
    if contexts.current:
        chosen = _named(contexts, contexts.current)
        return _target(chosen.url, token or chosen.token, f"context {contexts.current}")
    if local is not None:
        return _target(local.url, token or local.token, "the installation of this checkout")
    return _target(DEFAULT_URL, token, "the default")


def check_url(url: str) -> str:
    """Return the URL without a path's last slash. Raises Failure unless it is http or https."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise usage(
            f"{url!r} is no address of an installation.", advice=f"It looks like {DEFAULT_URL}"
        )
    return url.rstrip("/")


def find_local(environment: Mapping[str, str]) -> Context | None:
    """Return the installation in the data folder that is named, else this checkout's; or None.

    A folder that is named and holds none is not replaced by another installation.
    """
    told = environment.get("INFRA_DATA_DIR", "")
    defaults = [default_data_dir(is_root=False), default_data_dir(is_root=True)]
    folders = [Path(told)] if told else defaults
    for folder in folders:
        places = Places(folder)
        url = _recorded_url(places)
        if url:
            return Context(url, _read(places.data / "secrets" / "cli_token").strip())
    return None


def _recorded_url(places: Places) -> str:
    """Return the address the start-up wrote down; "" when there is none."""
    url = text(_read_json(places.run / "installation.json"), "url")
    port = number(_read_json(places.record), "port") or number(_read_json(places.choices), "port")
    return (url or (f"http://127.0.0.1:{port}" if port else "")).rstrip("/")


def _read_json(path: Path) -> object:
    try:
        return json.loads(_read(path) or "null")
    except ValueError:
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _named(contexts: Contexts, name: str) -> Context:
    try:
        return contexts.known[name]
    except KeyError:
        raise _no_context(name, contexts) from None


def _no_context(name: str, contexts: Contexts) -> Failure:
    known = ", ".join(sorted(contexts.known)) or "none yet"
    return usage(
        f"There is no context {name!r}; known are: {known}.",
        advice=f"Make one with: infra context set {name} --url URL",
    )


def _token_for(url: str, contexts: Contexts, local: Context | None) -> str:
    candidates = [*contexts.known.values(), *([local] if local else [])]
    wanted = url.rstrip("/")
    return next((c.token for c in candidates if c.token and c.url.rstrip("/") == wanted), "")


def _target(url: str, token: str, source: str) -> Target:
    return Target(check_url(url), token, source)
