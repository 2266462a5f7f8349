"""Who may open the serial console of which droplet, and which node is asked for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http.cookies import CookieError, SimpleCookie
from urllib.parse import urlsplit
from uuid import UUID

from django.conf import settings
from django.db import Error as DatabaseError
from django.http.request import split_domain_port, validate_host

from infra.bearers import bearer_actor
from infra.http import Scope, header
from infra.relay import Session
from infra.sessions import cookie_actor
from inventory.access import Actor, access_resource, check_may_change
from inventory.errors import InfraError, NotFound
from inventory.identifiers import uuid7
from inventory.models import Kind, NodeLink, Placement
from operations.audit import record_audit
from operations.intents.call import Call

LOCAL_HOSTS = [".localhost", "127.0.0.1", "[::1]"]


class Turned(Exception):
    """Not let in; `status` is the HTTP status, `code` the permanent code."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code


@dataclass(frozen=True)
class Door:
    """One wish to open a console. `identify` uses the ORM and may raise Turned."""

    droplet_id: UUID
    identify: Callable[[], Actor | None]

    def check(self) -> Actor:
        """Return who asks, if they may still use the console. Raises Turned."""
        try:
            actor = self.identify()
            if actor is None:
                raise Turned(401, "not_authenticated", "Sign in, or send an API token.")
            resource = access_resource(actor, self.droplet_id, kind=Kind.DROPLET)
            check_may_change(actor, resource, "type at the console of")
        except InfraError as error:
            status = 404 if isinstance(error, NotFound) else 403
            raise Turned(status, error.code, str(error)) from error
        except DatabaseError as error:
            raise Turned(503, "unavailable", "The database cannot be reached now.") from error
        return actor


@dataclass(frozen=True)
class Admission:
    """A console that may be opened; without a `session`, `problem` says why none can be yet."""

    name: str
    node_name: str = ""
    session: Session | None = None
    problem: str = ""


def admit(door: Door, *, now: datetime) -> Admission:
    """Return the session to open, and write into the audit journal who opens it. Raises Turned."""
    actor = door.check()
    resource = access_resource(actor, door.droplet_id, kind=Kind.DROPLET)
    placement = (
        Placement.objects.select_related("node")
        .filter(resource=resource, released_at__isnull=True)
        .first()
    )
    if placement is None:
        problem = f"Droplet {resource.name} is on no node, so it has no console."
        return Admission(resource.name, problem=problem)
    session = Session(uuid7(), placement.node_id, resource.pk, actor.label)
    record_audit(
        Call(actor=actor, now=now),
        "droplet.console",
        kind=Kind.DROPLET,
        object_id=resource.pk,
        name=resource.name,
        after={"session": str(session.id), "node": placement.node.name},
    )
    return Admission(resource.name, placement.node.name, session)


def last_heard(node_id: UUID, *, now: datetime) -> str:
    """Return in words when the node was last heard."""
    link = NodeLink.objects.filter(node_id=node_id).first()
    if link is None or link.last_seen is None:
        return "it has never been heard"
    return f"it was last heard {max((now - link.last_seen).total_seconds(), 0):.0f} s ago"


def cookie_door(scope: Scope, droplet_id: UUID) -> Door:
    """Return the door for a browser: its session cookie, from a page of ours only.

    A WebSocket is not bound to its origin by the browser, so the origin is checked here.
    """
    ours = origin_is_ours(header(scope, "origin"), header(scope, "host") or "")
    cookies = _cookies(header(scope, "cookie") or "")

    def identify() -> Actor | None:
        if not ours:
            raise Turned(403, "origin", "This console opens only from the console's own pages.")
        return cookie_actor(cookies)

    return Door(droplet_id, identify)


def token_door(scope: Scope, droplet_id: UUID) -> Door:
    """Return the door for programs: an API token in the Authorization header, nothing else."""
    authorization = header(scope, "authorization") or ""

    def identify() -> Actor | None:
        return bearer_actor(authorization)

    return Door(droplet_id, identify)


def origin_is_ours(origin: str | None, host: str) -> bool:
    """Return whether a page of that origin may speak to this host."""
    if origin is None:
        return False
    allowed = settings.ALLOWED_HOSTS or LOCAL_HOSTS
    if not validate_host(split_domain_port(host)[0], allowed):
        return False
    return origin in settings.CSRF_TRUSTED_ORIGINS or urlsplit(origin).netloc == host


def _cookies(raw: str) -> Mapping[str, str]:
    try:
        return {name: morsel.value for name, morsel in SimpleCookie(raw).items()}
    except CookieError:
        return {}
