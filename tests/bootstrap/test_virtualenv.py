"""The stamp of the virtual environment, and the programs in it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bootstrap.virtualenv import (
    STAMP,
    read_stamp,
    uv_environment,
    wanted_stamp,
    write_programs,
)

PROJECT = '[project]\nversion = "1.2"\n'


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / ".ci").mkdir()
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "requirements.lock").write_text("one==1\n")
    (tmp_path / ".ci" / "requirements.lock").write_text("two==2\n")
    return tmp_path


def stamp(checkout: Path, *parts: str) -> dict[str, str]:
    return wanted_stamp(checkout, checkout / ".venv", parts=parts)


def test_the_same_locks_give_the_same_stamp(checkout: Path) -> None:
    assert stamp(checkout, "product", "tests") == stamp(checkout, "product", "tests")


def test_a_changed_lock_changes_its_own_part_only(checkout: Path) -> None:
    before = stamp(checkout, "product", "tests")
    (checkout / ".ci" / "requirements.lock").write_text("two==3\n")
    after = stamp(checkout, "product", "tests")
    assert after["product"] == before["product"]
    assert after["tests"] != before["tests"]


def test_a_moved_checkout_gets_a_new_environment(checkout: Path) -> None:
    elsewhere = wanted_stamp(checkout, checkout / "elsewhere" / ".venv", parts=("product",))
    assert elsewhere != stamp(checkout, "product")


@pytest.mark.parametrize("text", [None, "", "{", "[]"])
def test_an_unfinished_environment_counts_as_none(checkout: Path, text: str | None) -> None:
    if text is not None:
        (checkout / STAMP).write_text(text)
    assert read_stamp(checkout) == {}


def test_a_finished_environment_is_read_back(checkout: Path) -> None:
    (checkout / STAMP).write_text(json.dumps({"product": "abc"}))
    assert read_stamp(checkout) == {"product": "abc"}


def test_uv_is_told_of_pips_index_unless_it_has_its_own() -> None:
    assert (
        uv_environment("https://mirror/simple", {})["UV_DEFAULT_INDEX"] == "https://mirror/simple"
    )
    assert uv_environment("", {}) == {}
    own = {"UV_INDEX_URL": "https://own/simple"}
    assert uv_environment("https://mirror/simple", own) == own


def test_the_programs_run_the_checkout_from_anywhere(tmp_path: Path) -> None:
    venv, checkout = tmp_path / "venv", tmp_path / "checkout"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
    checkout.mkdir()
    (checkout / "pyproject.toml").write_text(PROJECT)
    for package, word in (("infra/cli", "infra"), ("agent", "agent")):
        (checkout / package).mkdir(parents=True)
        (checkout / package / "main.py").write_text(f"def run():\n    print('{word}')\n")
    write_programs(venv, checkout)
    for program, word in (("infra", "infra"), ("infra-agent", "agent")):
        done = subprocess.run(
            [venv / "bin" / program], capture_output=True, text=True, cwd="/", check=True
        )
        assert done.stdout.strip() == word
    told = subprocess.run(
        [
            venv / "bin" / "python",
            "-c",
            "import importlib.metadata as m; print(m.version('infra'))",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.strip() == "1.2"
