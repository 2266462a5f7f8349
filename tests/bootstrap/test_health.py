"""The health addresses, which the start-up, load balancers and monitors ask."""

import pytest
from django.db import DatabaseError
from django.db.backends.utils import CursorWrapper
from django.test import Client


@pytest.mark.django_db
def test_it_is_well_when_the_database_answers_and_asks_for_no_sign_in(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]


@pytest.mark.django_db
def test_it_is_not_well_when_the_database_does_not_answer(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise DatabaseError("gone")

    monkeypatch.setattr(CursorWrapper, "execute", fail)
    assert client.get("/readyz").status_code == 503


@pytest.mark.django_db
def test_it_is_only_read(client: Client) -> None:
    assert client.post("/readyz").status_code == 405


def test_the_process_is_alive_whatever_the_database_does(client: Client) -> None:
    assert client.get("/healthz").status_code == 200
