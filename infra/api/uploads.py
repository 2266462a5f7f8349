"""Image bytes into the installation's own store, beside Django so that they stream.

`PUT /api/v1/images/store/<sha256>` writes to a file of its own and gives it its name only when
the digest is right: what is in the store under a digest has that digest, whatever broke off.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.db import Error as DatabaseError
from django.utils import timezone

from infra.api.errors import Problem
from infra.bearers import bearer_actor
from infra.database_threads import web_threads
from infra.http import ClientGone, Receive, Reply, Scope, Send, header, text_of
from inventory.access import Actor
from inventory.identifiers import uuid7
from inventory.specs.images import MAX_IMAGE_BYTES
from operations.audit import record_audit
from operations.intents.call import Call
from operations.intents.images import look_at_waiting

STORE = re.compile(r"/api/v1/images/store/([0-9a-f]{64})")
KEPT_FREE = 0.05
"""The part of the disk that uploads leave free: the database lives on it too."""

AT_ONCE = 4
WRITE_BYTES = 1 << 20
PART = ".part"
STALE_SECONDS = 24 * 3600

_uploading: set[str] = set()


@dataclass(frozen=True)
class UploadRefused(Exception):
    """An upload that is not taken."""

    status: HTTPStatus
    code: str
    detail: str


async def take_image(digest: str, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request to the store: PUT brings bytes, GET and HEAD say whether they are there."""
    try:
        actor = await web_threads().run(_check_may_upload, header(scope, "authorization") or "")
        path = settings.ENVIRONMENT.images / digest
        match text_of(scope, "method"):
            case "PUT":
                reply = await _put(path, actor, scope, receive)
            case "GET" | "HEAD":
                reply = _told(path, HTTPStatus.OK) if path.exists() else _missing(digest)
            case _:
                reply = problem_reply(
                    UploadRefused(
                        HTTPStatus.METHOD_NOT_ALLOWED, "method_not_allowed", "PUT the bytes here."
                    )
                )
    except UploadRefused as refused:
        reply = problem_reply(refused)
    except DatabaseError:
        reply = problem_reply(
            UploadRefused(
                HTTPStatus.SERVICE_UNAVAILABLE, "unavailable", "The database cannot be reached now."
            )
        )
    except ClientGone:
        return
    await reply.send(send)


def _check_may_upload(authorization: str) -> Actor:
    actor = bearer_actor(authorization)
    if actor is None:
        raise UploadRefused(
            HTTPStatus.UNAUTHORIZED, "not_authenticated", "Send an API token with the upload."
        )
    if not any(map(actor.may_change, actor.roles)) and not actor.may_administer:
        detail = "You may not upload images; it needs the role operator of an owner."
        raise UploadRefused(HTTPStatus.FORBIDDEN, "forbidden", detail)
    return actor


async def _put(path: Path, actor: Actor, scope: Scope, receive: Receive) -> Reply:
    if await asyncio.to_thread(path.exists):
        await _drain(receive)
        return _told(path, HTTPStatus.OK)
    _check_room(path.parent, _stated_length(scope))
    if len(_uploading) >= AT_ONCE:
        detail = f"{AT_ONCE} uploads are under way; repeat it in a while."
        raise UploadRefused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", detail)
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PART}")
    _uploading.add(part.name)
    try:
        await _write(part, path.name, receive)
        await asyncio.to_thread(_publish, part, path)
    finally:
        _uploading.discard(part.name)
        part.unlink(missing_ok=True)
    await web_threads().run(_record, actor, path)
    return _told(path, HTTPStatus.CREATED)


def _stated_length(scope: Scope) -> int:
    stated = header(scope, "content-length") or "0"
    return int(stated) if stated.isdecimal() and len(stated) <= len(str(MAX_IMAGE_BYTES)) else 0


def _check_room(folder: Path, more: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    disk = shutil.disk_usage(folder)
    if more > MAX_IMAGE_BYTES or disk.free - more < disk.total * KEPT_FREE:
        detail = f"The store has no room for {more} bytes. Nothing was kept."
        raise UploadRefused(HTTPStatus.INSUFFICIENT_STORAGE, "store.full", detail)


async def _write(part: Path, digest: str, receive: Receive) -> None:
    """Write the body to the file. Raises UploadRefused when it is not what its digest says."""
    counted, found = 0, hashlib.sha256()
    with part.open("xb") as file:
        waiting = bytearray()
        more = True
        while more:
            chunk, more = await _next(receive)
            waiting += chunk
            if len(waiting) >= WRITE_BYTES or not more:
                _check_room(part.parent, len(waiting))
                await asyncio.to_thread(_append, file, found, bytes(waiting))
                counted += len(waiting)
                waiting.clear()
        await asyncio.to_thread(_flush, file)
    if found.hexdigest() != digest or not counted:
        detail = (
            f"The {counted} bytes that came have the digest {found.hexdigest()}, not the one in "
            "the address. Nothing was kept; send it again."
        )
        raise UploadRefused(HTTPStatus.UNPROCESSABLE_ENTITY, "image.digest", detail)


async def _next(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] != "http.request":
        raise ClientGone
    body = message.get("body", b"")
    return body if isinstance(body, bytes) else b"", bool(message.get("more_body", False))


async def _drain(receive: Receive) -> None:
    """Read on to the end: a client that is cut off while it sends does not see the answer."""
    more = True
    while more:
        _, more = await _next(receive)


def _append(file: BinaryIO, digest: hashlib._Hash, content: bytes) -> None:
    file.write(content)
    digest.update(content)


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _publish(part: Path, path: Path) -> None:
    part.chmod(0o644)
    part.replace(path)
    _forget_stale(path.parent)


def _forget_stale(folder: Path) -> None:
    """Delete what uploads of processes that are no more have left."""
    limit = timezone.now().timestamp() - STALE_SECONDS
    for part in folder.glob(f".*{PART}"):
        with suppress(FileNotFoundError):
            if part.name not in _uploading and part.stat().st_mtime < limit:
                part.unlink()


def _record(actor: Actor, path: Path) -> None:
    call = Call(actor=actor, now=timezone.now())
    after: dict[str, object] = {"sha256": path.name, "size_bytes": path.stat().st_size}
    record_audit(call, "image.upload", kind="image", object_id=None, name="", after=after)
    look_at_waiting(path.name, now=call.now)


def _told(path: Path, status: HTTPStatus) -> Reply:
    body = f'{{"sha256":"{path.name}","size_bytes":{path.stat().st_size}}}'
    return Reply(status, body.encode())


def _missing(digest: str) -> Reply:
    detail = f"The store holds no image {digest}."
    return problem_reply(UploadRefused(HTTPStatus.NOT_FOUND, "not_found", detail))


def problem_reply(refused: UploadRefused) -> Reply:
    """Return the refusal as a problem document."""
    document = Problem(
        type=f"urn:infra:problem:{refused.code}",
        title=refused.status.phrase,
        status=int(refused.status),
        code=refused.code,
        detail=refused.detail,
        request_id=str(uuid7()),
    )
    body = document.model_dump_json().encode()
    headers = {"retry-after": "5"} if refused.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return Reply(int(refused.status), body, "application/problem+json", headers)
