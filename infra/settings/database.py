"""A PostgreSQL URL as Django wants it."""

from __future__ import annotations

from typing import TypedDict
from urllib.parse import parse_qs, unquote, urlsplit


class DatabaseOptions(TypedDict):
    """The part of Django's DATABASES entry that comes from the URL."""

    ENGINE: str
    NAME: str
    USER: str
    PASSWORD: str
    HOST: str
    PORT: str


def database_from_url(url: str) -> DatabaseOptions:
    """Return Django's options for `postgresql://user:password@host:port/name?host=/socket/dir`.

    Raises ValueError when the scheme or the name is missing.
    """
    parts = urlsplit(url)
    if parts.scheme not in {"postgresql", "postgres"}:
        raise ValueError("INFRA_DATABASE_URL must start with postgresql://")
    query = parse_qs(parts.query)
    name = unquote(parts.path.lstrip("/"))
    if not name:
        raise ValueError("INFRA_DATABASE_URL names no database: postgresql://user@host/NAME")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or query.get("user", [""])[0]),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.get("host", [parts.hostname or ""])[0],
        "PORT": query.get("port", [str(parts.port or "")])[0],
    }
