"""One key, one effect."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from infra.api import idempotency
from infra.api.idempotency import claim, sweep_idempotency
from infra.api.models import IdempotencyRecord
from inventory.models import AuditEvent, Event, Resource
from operations.models import Operation
from tests import factories
from tests.api.client import Api, token_of

BODY = {"name": "hello", "spec": {"image": "tiny"}}


def droplets():
    return Resource.objects.filter(kind="droplet").count()


def test_the_same_request_again_gets_the_same_answer(api, image):
    first = api.post("droplets", BODY, Idempotency_Key="k1")
    again = api.post("droplets", BODY, Idempotency_Key="k1")
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again["Location"] == first["Location"]
    assert again["Idempotency-Replayed"] == "true"
    assert not first.has_header("Idempotency-Replayed")
    assert droplets() == 1


def test_another_request_under_the_same_key_is_refused(api, image):
    api.post("droplets", BODY, Idempotency_Key="k1")
    for answer in (
        api.post("droplets", {**BODY, "name": "other"}, Idempotency_Key="k1"),
        api.post("droplets/hello/stop", {}, Idempotency_Key="k1"),
        api.post("droplets?reason=x", BODY, Idempotency_Key="k1"),
    ):
        assert answer.status_code == 422
        assert answer.json()["code"] == "idempotency.reused"
    assert droplets() == 1


def test_keys_belong_to_people(api, image, operator):
    api.post("droplets", BODY, Idempotency_Key="k1")
    other = Api(token_of(operator))
    answer = other.post("droplets", {**BODY, "name": "mine"}, Idempotency_Key="k1")
    assert answer.status_code == 202


def test_a_refusal_is_not_kept(api, owner):
    assert api.post("droplets", BODY, Idempotency_Key="k1").status_code == 422
    factories.make_image(factories.make_call(factories.User.objects.get(username="admin")))
    assert api.post("droplets", BODY, Idempotency_Key="k1").status_code == 202


def test_a_key_is_free_again_after_a_day(api, image):
    api.post("droplets", BODY, Idempotency_Key="k1")
    IdempotencyRecord.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    answer = api.post("droplets", {**BODY, "name": "later"}, Idempotency_Key="k1")
    assert answer.status_code == 202
    assert answer.json()["resource_name"] == "later"
    again = api.post("droplets", {**BODY, "name": "later"}, Idempotency_Key="k1")
    assert again["Idempotency-Replayed"] == "true"


def test_the_sweep_deletes_what_has_expired(api, image):
    api.post("droplets", BODY, Idempotency_Key="k1")
    api.post("droplets", {**BODY, "name": "b"}, Idempotency_Key="k2")
    IdempotencyRecord.objects.filter(key="k1").update(expires_at=timezone.now())
    assert sweep_idempotency(now=timezone.now()) == 1
    assert sweep_idempotency(now=timezone.now()) == 0
    assert IdempotencyRecord.objects.get().key == "k2"


def test_a_secret_is_never_kept_for_a_replay(api):
    first = api.post("tokens", {"name": "ci"}, Idempotency_Key="k1")
    assert first.status_code == 201
    again = api.post("tokens", {"name": "ci"}, Idempotency_Key="k1")
    assert again.status_code == 409
    assert again.json()["code"] == "idempotency.secret"
    assert first.json()["token"].encode() not in bytes(IdempotencyRecord.objects.get().answer)


def test_an_odd_key_is_refused(api, image):
    for key in ("k" * 256, "k\x7f", "kä"):
        assert api.post("droplets", BODY, Idempotency_Key=key).status_code == 422
    assert droplets() == 0


def test_a_dry_run_leaves_nothing_and_takes_no_key(api, image):
    before = [model.objects.count() for model in (Resource, Operation, AuditEvent, Event)]
    answer = api.post("droplets?dry_run=true", BODY, Idempotency_Key="k1")
    assert answer.status_code == 200
    assert answer["Infra-Dry-Run"] == "true"
    assert not answer.has_header("Location")
    assert answer.json()["kind"] == "droplet.create"
    after = [model.objects.count() for model in (Resource, Operation, AuditEvent, Event)]
    assert after == before
    assert not IdempotencyRecord.objects.exists()
    assert api.post("droplets", BODY, Idempotency_Key="k1").status_code == 202
    assert api.post("droplets?dry_run=perhaps", BODY).status_code == 422


@pytest.mark.django_db(transaction=True)
def test_two_at_once_under_one_key_make_one_droplet():
    factories.make_installation()
    admin = factories.make_admin()
    factories.make_image(factories.make_call(admin))
    token = token_of(admin)
    gate = threading.Barrier(4)

    def ask(_):
        try:
            gate.wait()
            return Api(token).post("droplets", BODY, Idempotency_Key="k1")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(ask, range(4)))
    assert [answer.status_code for answer in answers] == [202] * 4
    assert len({answer.content for answer in answers}) == 1
    assert sum(answer.has_header("Idempotency-Replayed") for answer in answers) == 3
    assert droplets() == 1
    assert Operation.objects.filter(kind="droplet.create").count() == 1


@pytest.mark.django_db(transaction=True)
def test_whoever_waits_too_long_for_the_first_is_told_that_it_is_at_work(monkeypatch):
    monkeypatch.setattr(idempotency, "WAIT_MILLISECONDS", 100)
    factories.make_installation()
    admin = factories.make_admin()
    factories.make_image(factories.make_call(admin))
    token = token_of(admin)

    def ask():
        try:
            return Api(token).post("droplets", BODY, Idempotency_Key="k1")
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        claim(admin.pk, "k1", "another digest", now=timezone.now())
        answer = pool.submit(ask).result()
        transaction.set_rollback(True)
    assert answer.status_code == 409
    assert answer.json()["code"] == "idempotency.in_progress"
    assert answer["Retry-After"] == "1"
    assert ask().status_code == 202
