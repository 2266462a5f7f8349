"""Signing in: who gets in, who is slowed down, and that every try is in the audit journal."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from infra.console.attempts import FAILURES_PER_ADDRESS, FAILURES_PER_NAME
from inventory.models import AuditEvent

pytestmark = pytest.mark.django_db
GOOD = "a long pass phrase"


@pytest.fixture(autouse=True)
def _fresh_counts(settings) -> None:
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    cache.clear()


@pytest.fixture
def client() -> Client:
    return Client(headers={"host": "127.0.0.1"})


def sign_in(client: Client, name: str = "admin", password: str = GOOD, **more: str):
    return client.post("/sign-in/", {"username": name, "password": password, **more})


def test_the_right_password_lets_in_and_leads_on(client: Client, admin) -> None:
    answer = sign_in(client, next="/droplets/?q=web")

    assert (answer.status_code, answer["Location"]) == (302, "/droplets/?q=web")
    assert client.get("/").status_code == 200


def test_the_wrong_password_does_not(client: Client, admin) -> None:
    answer = sign_in(client, password="wrong")

    assert answer.status_code == 401
    assert b"Name or password is wrong" in answer.content
    assert client.get("/").status_code == 302


def test_nobody_is_led_to_another_site(client: Client, admin) -> None:
    assert sign_in(client, next="https://elsewhere.test/")["Location"] == "/"


def test_after_too_many_failures_even_the_right_password_waits(client: Client, admin) -> None:
    for _ in range(FAILURES_PER_NAME):
        sign_in(client, password="wrong")

    answer = sign_in(client)

    assert answer.status_code == 401
    assert b"Too many failures" in answer.content


def test_failures_of_one_name_do_not_lock_another_out(client: Client, admin) -> None:
    for _ in range(FAILURES_PER_NAME):
        sign_in(client, "somebody", "wrong")

    assert sign_in(client).status_code == 302


def test_a_name_cannot_be_locked_from_another_address(client: Client, admin) -> None:
    for _ in range(FAILURES_PER_NAME):
        client.post("/sign-in/", {"username": "admin", "password": "x"}, REMOTE_ADDR="198.51.100.7")

    assert sign_in(client).status_code == 302


def test_an_address_that_tries_many_names_waits(client: Client, admin) -> None:
    for number in range(FAILURES_PER_ADDRESS):
        sign_in(client, f"guess-{number}", "wrong")

    assert b"Too many failures" in sign_in(client).content


def test_every_try_is_in_the_audit_journal(client: Client, admin) -> None:
    sign_in(client, password="wrong")
    sign_in(client)

    tries = AuditEvent.objects.filter(object_kind="user").order_by("pk")
    assert list(tries.values_list("action", "object_name", "reason")) == [
        ("sign_in_refused", "admin", "127.0.0.1"),
        ("sign_in", "admin", "127.0.0.1"),
    ]


def test_hostile_names_are_refused_and_recorded_plainly(client: Client, admin) -> None:
    for name in ("\x00admin", "a" * 5000, "<script>", "服务测试"):
        assert sign_in(client, name, "wrong").status_code == 401


def test_the_admin_asks_at_the_same_door(client: Client, viewer: Client, admin) -> None:
    lost = client.get("/admin/inventory/zone/", follow=True)
    turned = viewer.get("/admin/", follow=True)

    assert lost.redirect_chain[-1][0] == "/sign-in/?next=/admin/inventory/zone/"
    assert turned.status_code == 403
    assert sign_in(client, next="/admin/")["Location"] == "/admin/"
    assert b"Infra facts" in client.get("/admin/").content


def test_signing_out_ends_the_session_and_needs_a_form(browser: Client) -> None:
    assert browser.get("/sign-out/").status_code == 405
    assert browser.post("/sign-out/").status_code == 302
    assert browser.get("/").status_code == 302
