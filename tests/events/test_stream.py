"""The stream as browsers and programs hear it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connection

from infra import event_hub, events
from inventory.identifiers import uuid7
from inventory.models import Event, Membership, Owner, User
from tests.events.conftest import Listening, Web, places, tell_of
from tests.events.test_event_log import open_transaction
from tests.waiting import wait_until


def test_a_change_is_heard_at_once(web: Web, admin: User) -> None:
    with web.listen(admin) as client:
        tell_of("create")

        assert client.wait_for(1) == ["create"]
    assert "event: droplet" in client.lines


def test_two_transactions_that_end_in_reverse_order_are_both_heard(web: Web, admin: User) -> None:
    with web.listen(admin) as client:
        with open_transaction("slow") as finish:
            tell_of("quick")
            tell_of("quicker")
            finish()

        assert client.wait_for(3) == ["slow", "quick", "quicker"]


def test_who_comes_back_hears_what_was_missed_and_no_more(web: Web, admin: User) -> None:
    for action in ("one", "two", "three"):
        tell_of(action)
    with web.listen(admin, last_event_id=places()[0]) as client:
        client.wait_for(2)
        tell_of("four")

        assert client.wait_for(3) == ["two", "three", "four"]


def test_many_changes_while_coming_back_leave_no_gap(web: Web, admin: User) -> None:
    tell_of("start")
    start = places()[0]

    def change(writer: int) -> None:
        for number in range(30):
            tell_of(f"{writer}.{number}")
        connection.close()

    writers = [threading.Thread(target=change, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    with web.listen(admin, last_event_id=start) as early:
        for writer in writers:
            writer.join()
        with web.listen(admin, last_event_id=start) as late:
            expected = sorted(
                Event.objects.exclude(action="start").values_list("action", flat=True)
            )

            assert sorted(early.wait_for(90)) == expected
            assert early.actions == late.wait_for(90)


def test_what_was_pruned_is_said_to_be_missing(web: Web, admin: User) -> None:
    tell_of("old")
    gone = places()[0]
    tell_of("kept")
    Event.objects.filter(action="old").delete()
    with web.listen(admin, last_event_id=gone) as client:
        client.wait_for(1)
        tell_of("new")

        assert client.wait_for(2) == ["resync", "new"]


def test_a_place_of_another_life_of_the_database_does_not_silence(web: Web, admin: User) -> None:
    tell_of("old")
    with web.listen(admin, last_event_id="999999999999-1") as client:
        client.wait_for(1)
        tell_of("new")

        assert client.wait_for(2) == ["resync", "new"]


def test_a_listener_hears_only_what_it_may_see_and_asked_for(web: Web, admin: User) -> None:
    mine, other = Owner.objects.create(name="mine"), Owner.objects.create(name="other")
    person = User.objects.create_user("bob")
    Membership.objects.create(user=person, owner=mine, role="viewer")
    droplet = uuid7()
    with (
        web.listen(person) as all_of_mine,
        web.listen(admin, "?topic=operation") as operations,
        web.listen(admin, f"?object_id={droplet}") as about_it,
    ):
        tell_of("secret", owner_id=other.pk)
        tell_of("mine", owner_id=mine.pk)
        tell_of("facts", topic="node")
        tell_of("running", topic="operation", owner_id=other.pk, data={"resource_id": str(droplet)})
        tell_of("seen", owner_id=mine.pk, object_id=droplet)

        assert all_of_mine.wait_for(3) == ["mine", "facts", "seen"]
        assert operations.wait_for(1) == ["running"]
        assert about_it.wait_for(2) == ["running", "seen"]


def test_nobody_listens_without_signing_in(web: Web) -> None:
    with web.listen(None) as client:
        assert client.status == 401


@pytest.mark.parametrize("query", ["?object_id=droplet", "?after=yesterday"])
def test_a_query_that_makes_no_sense_is_refused(web: Web, admin: User, query: str) -> None:
    with web.listen(admin, query) as client:
        assert client.status == 400


def test_a_stream_ends_soon_after_signing_out(
    web: Web, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "RECHECK_SECONDS", 0.05)
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.1)
    with web.listen(admin) as client:
        Session.objects.all().delete()

        wait_until(lambda: client.ended, what="the stream to end")


def test_a_quiet_stream_beats_and_moves_its_place(
    web: Web, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "HEARTBEAT_SECONDS", 0.1)
    with web.listen(admin, "?topic=nothing") as client:
        tell_of("create")
        place = places()[0]

        wait_until(lambda: f"id: {place}" in client.lines, what="the place to move")
    assert client.told == []


def test_the_stream_goes_on_when_its_database_connection_is_cut(web: Web, admin: User) -> None:
    with web.listen(admin) as client:
        tell_of("before")
        client.wait_for(1)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name = 'infra listening'"
            )
            assert cursor.fetchone()[0] == 1
        tell_of("after")

        assert client.wait_for(2) == ["before", "after"]


def test_the_greeting_comes_only_when_the_stream_listens(
    web: Web, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, read_bounds = threading.Event(), event_hub.read_bounds

    def read_later() -> object:
        gate.wait(30)
        return read_bounds()

    monkeypatch.setattr(event_hub, "read_bounds", read_later)
    client = web.listen(admin)
    with ThreadPoolExecutor(1) as pool:
        entered = pool.submit(client.__enter__)
        wait_until(lambda: client.status == 200, what="the stream to open")
        assert ": connected" not in client.lines
        gate.set()
        entered.result()
    tell_of("after the greeting")
    assert client.wait_for(1) == ["after the greeting"]
    client.__exit__()


def test_a_client_that_is_too_slow_is_cut_and_told(
    web: Web, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_hub, "QUEUE_SIZE", 5)
    with web.listen(admin) as client, open_transaction("held", commit=False) as finish:
        for number in range(8):
            tell_of(f"{number}")
        finish()

        wait_until(lambda: client.ended, what="the client to be cut")
    assert client.actions == ["0", "1", "2", "3", "4", "cut"]


def test_many_clients_need_few_connections(web: Web, admin: User) -> None:
    clients = [web.listen(admin) for _ in range(40)]
    with ThreadPoolExecutor(len(clients)) as pool:
        list(pool.map(Listening.__enter__, clients))  # all at once, as after a restart
    tell_of("create")
    for client in clients:
        client.wait_for(1)

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND state IS NOT NULL"
        )
        connections = cursor.fetchone()[0]
    for client in clients:
        client.__exit__()
    pool = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
    assert connections <= pool + 1  # and the one that listens
