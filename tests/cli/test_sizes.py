from __future__ import annotations

import pytest

from infra.cli.failures import Failure
from infra.cli.sizes import parse_gib, parse_mib, sizes_body


@pytest.mark.parametrize(
    ("word", "mib"), [("512M", 512), ("2G", 2048), ("1.5GiB", 1536), ("1t", 1 << 20), ("2048K", 2)]
)
def test_sizes_are_read_as_people_write_them(word: str, mib: int) -> None:
    assert parse_mib(word, "--memory") == mib


@pytest.mark.parametrize("word", ["512", "", "-1G", "1.0001G", "1G2", "१G" * 2, "1e3G"])
def test_what_is_no_whole_size_is_refused(word: str) -> None:
    with pytest.raises(Failure, match="--memory"):
        parse_mib(word, "--memory")


def test_a_disk_has_whole_gibibytes() -> None:
    assert parse_gib("1T", "--disk") == 1024
    with pytest.raises(Failure, match="whole number of GiB"):
        parse_gib("1500M", "--disk")


def test_only_what_was_named_is_sent() -> None:
    assert sizes_body(None, "", "") == {}
    assert sizes_body(2, "1G", "3G") == {"vcpus": 2, "memory_mib": 1024, "disk_gib": 3}
