"""The words of ./manage.py, under a Python that has nothing but its standard library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from infra.bootstrap.arguments import make_parser
from infra.bootstrap.places import CHECKOUT

BARE = ("-I", "-S")
"""No site packages, no variables, no working folder: as bare as an interpreter gets."""


def manage(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *BARE, str(CHECKOUT / "manage.py"), *words],
        capture_output=True,
        text=True,
        cwd="/",
        env={**os.environ, **(env or {})},
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("words", [["--help"], ["up", "--help"], ["down", "-h"], ["status", "-h"]])
def test_help_answers_with_a_bare_python(words: list[str]) -> None:
    done = manage(*words)
    assert done.returncode == 0
    assert "usage: manage.py" in done.stdout


def test_no_word_at_all_is_a_usage_error() -> None:
    assert manage().returncode == 2


def test_status_of_nothing_says_so_and_ends_with_three(tmp_path: Path) -> None:
    done = manage("status", "--data-dir", str(tmp_path / "none"))
    assert done.returncode == 3
    assert "Not up" in done.stdout
    assert not (tmp_path / "none").exists()


def test_down_of_nothing_is_no_error(tmp_path: Path) -> None:
    done = manage("down", "--data-dir", str(tmp_path / "none"))
    assert done.returncode == 0
    assert "Nothing is up" in done.stdout


def test_importing_the_start_up_loads_nothing_from_outside_the_standard_library() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(CHECKOUT)!r})\n"
        "import infra.bootstrap.main, infra.bootstrap.up, infra.bootstrap.down\n"
        "import infra.bootstrap.status, infra.bootstrap.testing\n"
        "known = sys.stdlib_module_names | {'infra', '__main__'}\n"
        "names = {name.partition('.')[0] for name in sys.modules} - known\n"
        "print(sorted(name for name in names if not name.startswith('_sysconfigdata')))"
    )
    done = subprocess.run(
        [sys.executable, *BARE, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("port", ["0", "65534", "-1", "http"])
def test_a_port_without_two_after_it_is_a_usage_error(port: str) -> None:
    with pytest.raises(SystemExit) as ended:
        make_parser().parse_args(["up", "--port", port])
    assert ended.value.code == 2


def test_a_relative_data_folder_is_taken_from_where_the_person_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    options = make_parser().parse_args(["up", "--data-dir", "here"])
    assert options.data_dir == tmp_path / "here"


def test_words_for_pytest_pass_through_test() -> None:
    options, rest = make_parser().parse_known_args(["test", "-k", "name", "-n", "2", "tests/x"])
    assert options.command == "test"
    assert rest == ["-k", "name", "-n", "2", "tests/x"]
