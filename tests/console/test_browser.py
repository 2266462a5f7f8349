"""The console in a real browser: keys, living parts, themes, phones, and what the policy refuses."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from django.utils import timezone
from playwright.sync_api import Browser, expect, sync_playwright

from inventory.models import Resource, User
from operations.intents.droplets import rename, set_power
from operations.journal import Because, record
from operations.models import Operation
from operations.transitions import StepEvent
from tests import factories
from tests.console.addresses import FORMS, LISTS, samples
from tests.console.screens import CHROMIUM, FLAGS, Screen, screen, web_process
from tests.console.world import World

pytestmark = [
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(not CHROMIUM.exists(), reason="Chromium is not installed"),
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    # Playwright keeps an event loop in this thread, and Django would refuse to use the database
    # beside it; nothing here runs inside that loop.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture(scope="module")
def address(django_db_setup: None, django_db_blocker) -> Iterator[str]:
    with django_db_blocker.unblock(), web_process() as running:
        yield running


Opener = Callable[..., Screen]


@pytest.fixture
def open_screen(chromium: Browser, address: str, admin: User) -> Iterator[Opener]:
    """Return a way to open windows; each must end without a complaint of the browser."""
    opened = []

    def open_one(**options: object) -> Screen:
        manager = screen(chromium, address, options.pop("user", admin), **options)
        window = manager.__enter__()
        opened.append((manager, window))
        return window

    yield open_one
    complaints = [window.complaints for _, window in opened]
    for manager, _ in opened:
        manager.__exit__(None, None, None)
    assert complaints == [[]] * len(opened)


def violations(window: Screen) -> dict[tuple[str, str], str]:
    """Return what axe finds on the page: (rule, element) -> why."""
    results = Axe().run(window.page, options={"resultTypes": ["violations"], "preload": False})
    window.complaints.clear()  # axe measures with inline styles, which the policy rightly refuses
    return {
        (violation["id"], node["html"][:120]): node["failureSummary"][:300]
        for violation in results.response["violations"]
        for node in violation["nodes"]
    }


def test_every_page_is_accessible_in_both_themes_and_breaks_no_policy(
    open_screen: Opener, world: World
) -> None:
    window = open_screen()
    found: dict[str, list[str]] = {}
    for path in [*LISTS, *FORMS, "/search/?q=n", *samples(world), "/nothing-here/"]:
        window.open(path)
        refused = [text for text in window.complaints if "404" not in text]
        for theme in ("light", "dark"):
            window.page.evaluate("name => document.documentElement.dataset.theme = name", theme)
            for what in violations(window).items():
                found.setdefault(str(what), []).append(f"{path} {theme}")
        for what in refused:
            found.setdefault(what, []).append(path)

    report = "\n".join(f"{what} at {places[:3]}" for what, places in found.items())
    assert not found, report


def test_dialogs_tray_and_palette_are_accessible(open_screen: Opener, world: World) -> None:
    window = open_screen(color_scheme="dark")
    page = window.open(f"/droplets/{world.droplets['running'].pk}/")
    page.keyboard.press("t")
    expect(page.locator("#tray-body .tray-item").first).to_be_visible()
    assert violations(window) == {}
    page.keyboard.press("Control+k")
    expect(page.locator("#palette-list [role=option]").first).to_be_visible()
    assert violations(window) == {}
    page.keyboard.press("Escape")
    for name in ("delete", "resize", "stop", "rename", "rebuild"):
        page.locator(f"[data-open-dialog={name}]").first.click()
        assert violations(window) == {}
        page.keyboard.press("Escape")


def test_the_keyboard_reaches_everything(open_screen: Opener, world: World) -> None:
    page = open_screen().open("/")

    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("running")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Found for “running”")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.keyboard.press("d")
    expect(page.locator("h1")).to_have_text("Droplets")
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    page.keyboard.press("k")
    page.keyboard.press("x")
    expect(page.locator("[data-bulk-count]")).to_have_text("2 selected")
    page.keyboard.press("Shift+?")
    expect(page.locator("#help")).to_be_visible()
    page.locator("#keys-switch").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.locator("#tray")).to_be_hidden()


def test_the_palette_finds_objects_and_acts(open_screen: Opener, world: World) -> None:
    page = open_screen().open("/")

    page.keyboard.press("Control+k")
    page.keyboard.type("crashed")
    expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text("crashed")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("crashed")
    page.keyboard.press("Control+k")
    page.keyboard.type("dark theme")
    expect(page.locator("#palette-list [aria-selected=true]")).to_contain_text("dark theme")
    page.keyboard.press("Enter")
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def test_rows_live_and_keep_the_selection_and_the_place(open_screen: Opener, world: World) -> None:
    page = open_screen().open("/droplets/")
    expect(page.locator(".link-state")).to_have_attribute("data-state", "live")
    row = page.locator(f"#droplet-{world.droplets['crashed'].pk}")
    row.locator("input[name=id]").check()
    page.evaluate("document.querySelector('table').marked = true")

    rename(factories.make_call(world.admin), world.droplets["crashed"].pk, "crashed-2")

    expect(row.locator("th a")).to_have_text("crashed-2", timeout=15_000)
    expect(row.locator("input[name=id]")).to_be_checked()
    expect(page.locator("[data-bulk-count]")).to_have_text("1 selected")
    assert page.evaluate("document.querySelector('table').marked") is True


def test_a_timeline_lives(open_screen: Opener, world: World) -> None:
    operation = world.operations["sent"]
    page = open_screen().open(f"/operations/{operation.public_id}/")
    expect(page.locator(".link-state")).to_have_attribute("data-state", "live")
    step = operation.steps.get(kind="apply")

    record(step, StepEvent.CONFIRM, Because("The node showed it."), now=timezone.now())

    expect(page.locator(".head .state")).to_have_text("succeeded", timeout=15_000)
    expect(page.locator(f"#step-{step.pk}")).to_contain_text("The node showed it.")
    expect(page.locator("[data-journal]")).to_contain_text("The node showed it.")


def test_a_refresh_undoes_nothing_that_the_person_did(open_screen: Opener, world: World) -> None:
    operation = world.operations["sent"]
    page = open_screen().open(f"/operations/{operation.public_id}/")
    expect(page.locator(".link-state")).to_have_attribute("data-state", "live")
    page.locator("details.fold summary").first.click()
    page.locator("#journal-follow").uncheck()
    page.fill("#journal-search", "node showed")
    step = operation.steps.get(kind="apply")

    record(step, StepEvent.CONFIRM, Because("The node showed it."), now=timezone.now())

    expect(page.locator(".head .state")).to_have_text("succeeded", timeout=15_000)
    expect(page.locator("details.fold").first).to_have_attribute("open", "")
    expect(page.locator("#journal-follow")).not_to_be_checked()
    expect(page.locator("[data-journal] li:visible")).to_have_count(1)


def test_the_tray_stays_open_from_page_to_page(open_screen: Opener, world: World) -> None:
    window = open_screen()
    page = window.open("/")
    page.locator("button[data-toggle-tray]").first.click()
    expect(page.locator("#tray-body")).to_contain_text("Create waiting")
    window.open("/nodes/")
    expect(page.locator("#tray")).to_be_visible()
    set_power(factories.make_call(world.admin), world.droplets["running"].pk, "stopped")
    expect(page.locator("#tray-body")).to_contain_text("Stop running", timeout=15_000)


def test_a_droplet_is_declared_and_its_preview_follows_the_typing(
    open_screen: Opener, world: World
) -> None:
    page = open_screen().open("/droplets/new/")
    page.fill("[name=name]", "typed-1")
    page.fill("[name=memory_mib]", "96")
    expect(page.locator("#declared-yaml")).to_contain_text("memory_mib: 96")
    expect(page.locator("#declared-yaml")).to_contain_text("name: typed-1")
    page.get_by_role("button", name="Create the droplet").click()
    expect(page.locator("h1")).to_contain_text("Create typed-1")
    assert Resource.objects.get(name="typed-1").spec["memory_mib"] == 96


def test_deleting_asks_for_the_name(open_screen: Opener, world: World) -> None:
    droplet = world.droplets["running"]
    page = open_screen().open(f"/droplets/{droplet.pk}/")
    page.locator("[data-open-dialog=delete]").click()
    go = page.locator("#delete button[type=submit]")
    expect(go).to_be_disabled()
    page.fill("#delete-name", "run")
    expect(go).to_be_disabled()
    page.fill("#delete-name", "running")
    go.click()
    expect(page.locator("h1")).to_contain_text("Delete running")
    assert Operation.objects.filter(resource=droplet, kind="droplet.delete").exists()


def test_the_serial_console_draws_under_the_policy(open_screen: Opener, world: World) -> None:
    page = open_screen().open(f"/droplets/{world.droplets['running'].pk}/terminal/")

    expect(page.locator(".xterm-screen")).to_be_visible()
    expect(page.locator("#terminal-state")).not_to_be_empty()


def test_a_phone_shows_every_list_without_sideways_scrolling(
    open_screen: Opener, world: World
) -> None:
    window = open_screen(viewport={"width": 390, "height": 800})
    wide = {}
    for path in [*LISTS, "/droplets/new/", *samples(world)]:
        page = window.open(path)
        wide[path] = page.evaluate("document.documentElement.scrollWidth") > 390
    page.locator("[data-drawer]").click()
    page.get_by_role("link", name="Nodes", exact=True).click()
    expect(page.locator("h1")).to_have_text("Nodes")

    assert [path for path, too_wide in wide.items() if too_wide] == []


def test_times_are_the_viewers_with_the_exact_one_on_hover(
    open_screen: Opener, world: World
) -> None:
    page = open_screen(timezone_id="Asia/Tokyo", locale="en-GB").open(
        f"/operations/{world.operations['running'].public_id}/"
    )
    asked = page.locator("time[data-time=exact]").first

    expect(asked).to_have_attribute("title", re.compile(r"GMT\+9|JST"))


def test_pages_work_without_a_script(open_screen: Opener, world: World, settings) -> None:
    # The web process knows the product's hashers only, not the quick one of the tests.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
    world.admin.set_password("a long pass phrase")
    world.admin.save()
    window = open_screen(java_script_enabled=False, user=None)
    page = window.page
    page.goto(f"{window.address}/droplets/?seen=waiting")
    page.fill("[name=username]", "admin")
    page.fill("[name=password]", "a long pass phrase")
    page.get_by_role("button", name="Sign in").click()

    assert page.url.endswith("/droplets/?seen=waiting")
    assert page.locator("tbody tr").count() == 1
    page.get_by_role("link", name="waiting", exact=True).click()
    assert "None of" in page.locator("main").inner_text()
