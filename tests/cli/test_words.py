from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from infra.cli.words import age, labels, mebibytes, plain, size, span

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_what_a_guest_says_cannot_command_the_terminal() -> None:
    assert plain("a\x1b[2Jb") == "a\ufffd[2Jb"
    assert plain("safe\u202etxt.exe") == "safe\ufffdtxt.exe"
    assert plain("two\nlines") == "two lines"


def test_names_in_any_script_are_shown_as_they_are() -> None:
    assert plain("服务测试") == "服务测试"
    assert plain("क्\u200dष 👩\u200d💻") == "क्\u200dष 👩\u200d💻"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0s"), (0, "0s"), (59, "59s"), (61, "1m1s"), (600, "10m"), (3600, "1h"),
     (3700, "1h1m"), (90000, "25h"), (200000, "2d")],
)  # fmt: skip
def test_a_length_of_time_has_one_or_two_units(seconds: int, words: str) -> None:
    assert span(timedelta(seconds=seconds)) == words


def test_an_age_is_counted_from_now_and_missing_without_a_moment() -> None:
    assert age("2026-01-01T11:59:18Z", NOW) == "42s"
    assert age("", NOW) == "-"
    assert age("soon", NOW) == "-"
    assert age("2026-01-01T11:59:18", NOW) == "-"


def test_sizes_have_the_unit_that_fits() -> None:
    assert size(0) == "0 B"
    assert size(1536) == "1.5 KiB"
    assert size(20 * 1024**2) == "20 MiB"
    assert mebibytes(2048) == "2.0 GiB"


def test_labels_are_written_as_they_are_typed() -> None:
    assert labels({"b": "2", "a": "1"}) == "a=1,b=2"
    assert labels({}) == "-"
