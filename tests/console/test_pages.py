"""Every page renders in every state, says what is so, and lets in only whom it may."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest
from django.test import Client

from infra.console.views import found
from inventory.models import Resource
from tests import factories
from tests.console.addresses import FORMS, FRAGMENTS, LISTS, details
from tests.console.world import World

pytestmark = pytest.mark.django_db


STANDINGS = {
    "running": "running",
    "stopped": "stopped",
    "crashed": "crashed",
    "waiting": "waiting",
    "silent": "unseen",
    "deleting": "deleting",
    "gone": "deleted",
    "sent": "changing",
    "lost": "reconciling",
}
STORIES = {
    "running": ("succeeded", "Done, and seen to be done"),
    "waiting": ("queued", "too little memory"),
    "sent": ("running", "Under way"),
    "lost": ("reconciling", "Outcome unknown"),
    "refused": ("failed", "do not match its digest"),
    "cancelled": ("cancelled", "taken back before anything was sent"),
}


def statuses(client: Client, addresses: Iterable[str]) -> dict[str, int]:
    return {address: client.get(address).status_code for address in addresses}


def test_every_page_renders_with_an_inventory_full_of_states(browser: Client, world: World) -> None:
    addresses = [*LISTS, *FORMS, *FRAGMENTS, *details(world).values()]

    assert statuses(browser, addresses) == dict.fromkeys(addresses, 200)


def test_a_page_renders_when_there_is_nothing_yet(browser: Client) -> None:
    addresses = [*LISTS, "/console/tray", "/droplets/new/", "/search/"]

    assert statuses(browser, addresses) == dict.fromkeys(addresses, 200)


def test_a_living_part_is_fetched_alone(browser: Client, world: World) -> None:
    for address in [*LISTS, *details(world).values()]:
        answer = browser.get(address, headers={"HX-Request": "true"})

        assert answer.status_code == 200, address
        assert (b"<html" in answer.content) == address.endswith("/terminal/"), address


def test_a_droplet_page_says_how_it_stands(browser: Client, world: World) -> None:
    shown = {}
    for name in STANDINGS:
        answer = browser.get(f"/droplets/{world.droplets[name].pk}/")
        shown[name] = str(answer.context["standing"].state)
        assert f'data-state="{shown[name]}"' in answer.content.decode()

    assert shown == STANDINGS


def test_an_operation_page_tells_its_story(browser: Client, world: World) -> None:
    for name, (state, words) in STORIES.items():
        answer = browser.get(f"/operations/{world.operations[name].public_id}/")

        assert answer.context["operation"].state == state, name
        assert words in answer.content.decode(), name


def test_an_unknown_outcome_is_never_shown_as_a_failure(browser: Client, world: World) -> None:
    page = browser.get(f"/operations/{world.operations['lost'].public_id}/").content.decode()

    assert "tone-bad" not in page
    assert "failed" not in page.split('id="main"')[1].split("<aside")[0]


def test_the_overview_names_what_is_wrong_and_what_to_do(browser: Client, world: World) -> None:
    titles = [problem.title for problem in browser.get("/").context["problems"]]

    assert titles[0] == "Create refused: failed"
    assert "Node n2 is not reachable" in titles
    assert "Create lost: the outcome is not known" in titles
    assert "Create waiting: waits" in titles
    assert "Node n3 has not joined yet" in titles


def test_wanted_and_seen_stand_side_by_side_with_the_difference_marked(
    browser: Client, world: World
) -> None:
    lines = browser.get(f"/droplets/{world.droplets['crashed'].pk}/").context["lines"]

    differing = [(line.name, line.wanted, line.seen) for line in lines if line.differs]
    assert differing == [("Power", "running", "crashed")]


def test_nobody_sees_a_page_without_signing_in(world: World) -> None:
    client = Client(headers={"host": "127.0.0.1"})

    for address in [*LISTS, *FORMS, *FRAGMENTS, *details(world).values()]:
        answer = client.get(address)
        assert answer.status_code == 302, address
        assert answer["Location"].startswith("/sign-in/"), address


def test_a_living_part_sends_its_page_to_the_door_when_the_session_has_ended(
    admin, world: World
) -> None:
    client = Client(headers={"host": "127.0.0.1"})

    answer = client.get("/droplets/", headers={"HX-Request": "true"})

    assert (answer.status_code, answer["HX-Refresh"]) == (204, "true")


def test_pages_stay_out_of_every_cache(browser: Client) -> None:
    answer = browser.get("/droplets/")

    assert answer["Cache-Control"] == "private, no-store"
    assert "HX-Request" in answer["Vary"]


def test_a_foreign_object_looks_like_a_missing_one(stranger: Client, world: World) -> None:
    for name, address in details(world).items():
        if name.startswith(("droplet", "operation", "image", "key", "terminal")):
            assert stranger.get(address).status_code == 404, name


def test_a_stranger_finds_nothing_of_others(stranger: Client, world: World) -> None:
    assert list(stranger.get("/droplets/").context["rows"]) == []
    assert list(stranger.get("/operations/").context["operations"]) == []
    assert not stranger.get("/search/?q=running").context["hits"].resources
    assert stranger.get("/console/tray").context["tray"].open == []
    assert stranger.get("/").context["amounts"].droplets == 0


def test_a_viewer_is_offered_nothing_that_would_be_refused(viewer: Client, world: World) -> None:
    page = viewer.get(f"/droplets/{world.droplets['running'].pk}/")

    assert page.context["may_change"] is False
    assert b"Danger zone" not in page.content
    assert viewer.get("/zones/new/").status_code == 403
    assert viewer.get("/nodes/new/").status_code == 403


def test_a_viewer_cannot_change_anything_by_hand_made_requests(
    viewer: Client, world: World
) -> None:
    droplet = world.droplets["running"]
    before = Resource.objects.get(pk=droplet.pk).revision

    viewer.post(f"/droplets/{droplet.pk}/act/", {"act": "stop"})
    viewer.post(f"/droplets/{droplet.pk}/change/", {"change": "rename", "name": "mine"})
    viewer.post(f"/droplets/{droplet.pk}/change/", {"change": "protect"})
    viewer.post(f"/droplets/{droplet.pk}/delete/", {"confirm_name": droplet.name})
    viewer.post("/droplets/bulk/", {"act": "delete", "id": [str(droplet.pk)]})

    assert Resource.objects.get(pk=droplet.pk).revision == before


def test_names_in_any_script_are_shown_and_never_run(browser: Client, call, image) -> None:
    factories.make_droplet(call, "服务测试")
    factories.make_droplet(call, "<img src=x onerror=alert(1)>")

    page = browser.get("/droplets/").content.decode()

    assert "服务测试" in page
    assert "<img src=x" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_an_error_page_carries_the_request_id(browser: Client) -> None:
    answer = browser.get("/nothing-here/")

    assert answer.status_code == 404
    assert re.search(r"Request <code>[0-9a-f-]{36}</code>", answer.content.decode())


def test_an_error_under_the_api_is_a_problem_document(browser: Client) -> None:
    answer = browser.get("/api/v0/nothing")

    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"


def test_an_error_of_ours_says_what_is_still_safe(browser: Client, monkeypatch) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(found, "list_found", broken)
    browser.raise_request_exception = False
    answer = browser.get("/found/")

    assert answer.status_code == 500
    assert b"Guests go on running" in answer.content
    assert b"broken on purpose" not in answer.content
