from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.cli.contexts import Context, Contexts, contexts_path, read_contexts, write_contexts
from infra.cli.failures import Failure

LAB = Context("http://lab:8000", "secret")


def test_what_was_written_is_read_and_nobody_else_may(tmp_path: Path) -> None:
    path = contexts_path({"XDG_CONFIG_HOME": str(tmp_path)})
    before = os.umask(0)
    try:
        write_contexts(path, Contexts().with_context("lab", LAB))
    finally:
        os.umask(before)

    assert read_contexts(path) == Contexts("lab", {"lab": LAB})
    assert path.stat().st_mode & 0o777 == 0o600
    assert [found.name for found in path.parent.iterdir()] == ["contexts.json"]


def test_a_file_that_others_could_read_is_closed_when_it_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "contexts.json"
    path.write_text("{}")
    path.chmod(0o644)

    write_contexts(path, Contexts())

    assert path.stat().st_mode & 0o777 == 0o600


def test_without_a_file_there_are_no_contexts(tmp_path: Path) -> None:
    assert read_contexts(tmp_path / "none") == Contexts()


def test_a_broken_file_is_named_with_a_way_out(tmp_path: Path) -> None:
    path = tmp_path / "contexts.json"
    path.write_text("{")

    with pytest.raises(Failure, match=r"contexts\.json") as raised:
        read_contexts(path)

    assert "infra login" in raised.value.advice


def test_forgetting_the_current_context_leaves_none_current() -> None:
    assert Contexts("lab", {"lab": LAB}).without("lab") == Contexts()
