"""Owners, tokens, signing in, oneself, the audit journal."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import update_last_login
from django.test import Client
from django.utils import timezone

from infra.api import authentication
from infra.api.models import ApiToken
from infra.api.throttling import FailureThrottle
from infra.api.views import people
from tests import factories
from tests.api.client import Api, pointers, token_of


def test_owners_are_made_and_renamed(api, owner):
    made = api.post("owners", {"name": "lab"})
    assert made.status_code == 201
    assert api.patch("owners/lab", {"name": "labs"}).json()["name"] == "labs"
    assert api.post("owners", {"name": "labs"}).json()["code"] == "owner.name_taken"
    assert {each["name"] for each in api.get("owners").json()["items"]} == {"default", "labs"}
    assert api.patch("owners/labs", {"name": "x"}, If_Match='"1"').status_code == 422


def test_a_token_is_shown_once_and_kept_as_a_digest(api, admin):
    made = api.post("tokens", {"name": "ci", "scope": "read"})
    assert made.status_code == 201
    text = made.json()["token"]
    assert made["Cache-Control"] == "no-store"
    row = ApiToken.objects.get(name="ci")
    assert text.rsplit("_", 1)[1] not in row.digest
    listed = api.get("tokens").json()["items"]
    assert {each["name"] for each in listed} == {"ci", "test"}
    assert all("token" not in each for each in listed)
    assert Api(text).get("me").json() == {
        "username": "admin",
        "administrator": True,
        "read_only": True,
        "roles": {},
    }


def test_a_token_ends_when_it_is_revoked_or_expires_or_its_person_goes(api, operator):
    text = token_of(operator)
    other = Api(text)
    assert other.get("me").status_code == 200
    ApiToken.objects.filter(user=operator).update(expires_at=timezone.now())
    assert other.get("me").status_code == 401
    ApiToken.objects.filter(user=operator).update(expires_at=None)
    operator.is_active = False
    operator.save()
    assert other.get("me").status_code == 401
    operator.is_active = True
    operator.save()
    assert other.delete("tokens/test").status_code == 204
    assert other.get("me").status_code == 401
    again = Api(token_of(operator))
    operator.delete()
    assert again.get("me").status_code == 401
    assert not ApiToken.objects.filter(name="test", user__username="oscar").exists()


def test_a_token_that_only_reads_changes_nothing(admin, image):
    reader = Api(token_of(admin, scope="read"))
    assert reader.get("droplets").status_code == 200
    for answer in (
        reader.post("droplets", {"name": "a", "spec": {"image": "tiny"}}),
        reader.post("zones", {"name": "z"}),
        reader.post("tokens", {"name": "bigger"}),
        reader.delete("tokens/test"),
        reader.delete("images/tiny", {"confirm_name": "tiny"}),
    ):
        assert answer.status_code == 403


def test_tokens_of_others_are_not_there(api, operator):
    token_of(operator, name="secret")
    assert api.get("tokens/secret").status_code == 404
    assert api.delete("tokens/secret").status_code == 404


def test_a_token_needs_a_future_and_a_free_name(api):
    past = (timezone.now() - timedelta(days=1)).isoformat()
    assert pointers(api.post("tokens", {"name": "a", "expires_at": past})) == {
        "/expires_at": "past"
    }
    assert "/expires_at" in pointers(api.post("tokens", {"name": "a", "expires_at": "tomorrow"}))
    assert "/scope" in pointers(api.post("tokens", {"name": "a", "scope": "all"}))
    assert api.post("tokens", {"name": "test"}).json()["code"] == "token.name_taken"


def test_the_last_use_is_remembered_roughly(api, admin):
    api.get("me")
    first = ApiToken.objects.get(name="test").last_used_at
    api.get("me")
    assert ApiToken.objects.get(name="test").last_used_at == first
    ApiToken.objects.update(last_used_at=first - timedelta(minutes=6))
    api.get("me")
    assert ApiToken.objects.get(name="test").last_used_at > first - timedelta(minutes=1)


def test_who_is_nobody_is_asked_to_identify(owner):
    answer = Api().get("droplets")
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["code"] == "not_authenticated"
    for text in ("", "x", "infra_a_b", "infra_" + "0" * 12 + "_" + "0" * 64):
        assert Api(text or "x").get("droplets").status_code == 401


def test_failing_tokens_are_slowed_down(owner, admin, monkeypatch):
    monkeypatch.setattr(authentication, "TOKEN_FAILURES", FailureThrottle(failures=3))
    wrong = Api("infra_" + "0" * 12 + "_" + "0" * 64)
    assert [wrong.get("me").status_code for _ in range(4)] == [401, 401, 401, 429]
    assert int(wrong.get("me")["Retry-After"]) > 0


def test_a_window_of_failures_ends():
    throttle = FailureThrottle(failures=2, seconds=10)
    for _ in range(2):
        throttle.fail("a", now=0.0)
    assert throttle.wait("a", now=4.0) == 6.0
    assert throttle.wait("b", now=4.0) == 0.0
    assert throttle.wait("a", now=10.0) == 0.0
    throttle.fail("a", now=11.0)
    assert throttle.wait("a", now=11.0) == 0.0


def test_name_and_password_give_a_token(owner, monkeypatch):
    monkeypatch.setattr(people, "LOGIN_FAILURES", FailureThrottle(failures=3))
    factories.make_user("ada", role="viewer")
    body = {"username": "ada", "password": "a long pass phrase"}
    answer = Api().post("login", body)
    assert answer.status_code == 201
    assert Api(answer.json()["token"]).get("me").json()["username"] == "ada"
    wrong = [Api().post("login", {**body, "password": "x"}).status_code for _ in range(4)]
    assert wrong == [401, 401, 401, 429]
    assert Api().post("login", {"username": "a\u0000", "password": "x"}).status_code == 422


def test_a_session_may_read_and_needs_the_csrf_token_to_write(admin, image):
    update_last_login(None, admin)
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin)
    session = Api(client=client)
    assert session.get("me").json()["username"] == "admin"
    body = {"name": "a", "spec": {"image": "tiny"}}
    assert session.post("droplets", body).status_code == 403


def test_the_audit_journal_is_for_administrators(api, operator, image):
    api.post("droplets", {"name": "a", "spec": {"image": "tiny"}})
    newest = api.get("audit?limit=1").json()["items"][0]
    assert (newest["action"], newest["actor"]) == ("droplet.create", "admin")
    identifier = newest["object_id"]
    assert len(api.get(f"audit?object={identifier}").json()["items"]) == 1
    refused = Api(token_of(operator))
    assert refused.get("audit").status_code == 403
    denied = api.get("audit?limit=1").json()["items"][0]
    assert denied["action"] == "denied: read"
    assert denied["actor"] == "oscar"


@pytest.mark.django_db
def test_the_version_and_health_need_nobody(client):
    assert client.get("/api/v1/version").json()["api"] == "v1"
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").json() == {"database": "reachable"}
