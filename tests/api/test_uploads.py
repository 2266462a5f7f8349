"""Image bytes into the store, through the whole ASGI application."""

from __future__ import annotations

import asyncio
import hashlib

import httpx2
import pytest

from infra.asgi import application
from inventory.models import AuditEvent
from operations.models import Operation
from tests import factories
from tests.api.client import Api, token_of

pytestmark = pytest.mark.django_db(transaction=True)
CONTENT = b"an image" * 200_000
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def store(tmp_path, settings):
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"image_store": tmp_path})
    factories.make_installation()
    return tmp_path


@pytest.fixture
def token(store):
    return token_of(factories.make_admin())


def ask(method: str, path: str, token: str = "", content: object = None, **headers: str):
    sent = {"Authorization": f"Bearer {token}"} if token else {}
    return _run(method, path, content, sent | headers)


def _run(method, path, content, headers):
    async def run():
        transport = httpx2.ASGITransport(app=application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, content=content, headers=headers)

    return asyncio.run(run())


def put(token, content=CONTENT, digest=DIGEST):
    return ask("PUT", f"/api/v1/images/store/{digest}", token, content)


def test_bytes_are_kept_under_their_digest(store, token):
    answer = put(token)
    assert answer.status_code == 201
    assert answer.json() == {"sha256": DIGEST, "size_bytes": len(CONTENT)}
    assert (store / DIGEST).read_bytes() == CONTENT
    assert [path.name for path in store.iterdir()] == [DIGEST]
    assert AuditEvent.objects.get(action="image.upload").after["sha256"] == DIGEST
    assert put(token).status_code == 200
    assert ask("HEAD", f"/api/v1/images/store/{DIGEST}", token).status_code == 200
    assert ask("GET", f"/api/v1/images/store/{'0' * 64}", token).status_code == 404
    assert ask("POST", f"/api/v1/images/store/{DIGEST}", token).status_code == 405


def test_bytes_with_another_digest_are_not_kept(store, token):
    answer = put(token, digest="0" * 64)
    assert answer.status_code == 422
    assert answer.json()["code"] == "image.digest"
    assert put(token, content=b"", digest=hashlib.sha256(b"").hexdigest()).status_code == 422
    assert list(store.iterdir()) == []


def test_an_upload_that_breaks_off_leaves_nothing(store, token):
    async def half():
        yield CONTENT[:100_000]
        raise ConnectionError

    with pytest.raises(ConnectionError):
        put(token, content=half())
    assert list(store.iterdir()) == []


def test_who_may_not_change_anything_may_not_upload(store):
    viewer = token_of(factories.make_user("vera", role="viewer"))
    reader = token_of(factories.make_admin(), scope="read")
    operator = token_of(factories.make_user("oscar", role="operator"))
    assert put("").status_code == 401
    assert put("nonsense").status_code == 401
    assert put(viewer).status_code == 403
    assert put(reader).status_code == 403
    assert put(operator).status_code == 201


def test_a_waiting_image_is_looked_at_when_its_bytes_have_come(store, token):
    spec = {"sha256": DIGEST, "format": "raw", "size_bytes": len(CONTENT)}
    operation = Api(token).post("images", {"name": "deb", "spec": spec}).json()
    Operation.objects.filter(pk=operation["id"]).update(due_at="2100-01-01T00:00Z")
    put(token)
    assert Operation.objects.get(pk=operation["id"]).due_at.year < 2100


def test_a_full_store_takes_nothing(store, token, monkeypatch):
    monkeypatch.setattr("infra.api.uploads.KEPT_FREE", 1.1)
    answer = put(token)
    assert answer.status_code == 507
    assert answer.json()["code"] == "store.full"


def test_a_large_body_is_refused_before_it_is_read(store, token):
    answer = ask("POST", "/api/v1/droplets", token, b"x" * 3_000_000)
    assert answer.status_code == 413

    async def endless():
        for _ in range(40):
            yield b"x" * 100_000

    answer = ask("POST", "/api/v1/droplets", token, endless())
    assert answer.status_code == 413
    assert answer.json()["code"] == "too_large"
