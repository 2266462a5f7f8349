"""What the browser is sent: vendored files as locked, nothing inline, nothing from elsewhere."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest

from infra.console.states import _LOOKS
from infra.console.vendoring import ICONS, LOCK, PACKAGES, VENDOR

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
OURS = sorted((ROOT / "infra/console/static/console").rglob("*"))


def locked() -> dict[str, str]:
    packages = json.loads(LOCK.read_text())["packages"]
    return {name: digest for package in packages for name, digest in package["files"].items()}


def test_every_vendored_file_is_what_the_lock_says() -> None:
    found = {
        str(path.relative_to(VENDOR)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path != LOCK
    }

    assert found == locked()


def test_every_vendored_package_keeps_its_licence() -> None:
    packages = json.loads(LOCK.read_text())["packages"]

    assert [(p["name"], p["version"]) for p in packages] == [(p.name, p.version) for p in PACKAGES]
    for package in packages:
        assert package["licence"]
        assert any(name.endswith("/LICENSE") for name in package["files"]), package["name"]


def test_the_sprite_holds_every_icon_that_is_used() -> None:
    sprite = (VENDOR / "tabler-icons/icons.svg").read_text()
    sources = [path.read_text() for path in TEMPLATES]
    used = {name for text in sources for name in re.findall(r'{% icon "([^"]+)"', text)}
    used |= {look.icon for look in _LOOKS.values()}

    assert used <= set(ICONS)
    assert all(f'id="{name}"' in sprite for name in ICONS)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_template_has_nothing_that_the_policy_would_refuse(path: Path) -> None:
    text = path.read_text()

    assert not re.search(r"<script(?![^>]*\bsrc=)", text), "inline script"
    assert "<style" not in text, "inline style element"
    assert not re.search(r"\sstyle=", text), "inline style attribute"
    assert not re.search(r"\son[a-z]+=", text), "inline handler"
    assert not re.search(r"\bhx-on|hx-vals='?js:|hx-headers='?js:", text), "needs eval"
    assert not re.search(r'(src|href)="https?:', text), "fetched from elsewhere"


def test_our_own_files_fetch_nothing_from_elsewhere() -> None:
    for path in OURS:
        if path.suffix in {".css", ".js"}:
            text = path.read_text()
            assert not re.search(r"https?://(?!www\.w3\.org)", text), path
            assert "eval(" not in text, path


def test_no_script_or_style_is_longer_than_a_person_reads() -> None:
    assert {
        path.name: len(path.read_text().splitlines())
        for path in OURS
        if path.suffix in {".css", ".js"} and len(path.read_text().splitlines()) > 400
    } == {}
