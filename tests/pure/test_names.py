"""Names and the host names derived from them."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.names import InvalidName, hostname_for, normalize_name

LABEL = re.compile(r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")


def test_a_chinese_name_is_kept_and_has_a_safe_host_name():
    assert normalize_name("服务测试") == "服务测试"
    assert LABEL.fullmatch(hostname_for("服务测试"))


def test_names_without_ascii_letters_have_different_host_names():
    assert hostname_for("服务测试") != hostname_for("测试服务")


def test_a_plain_name_is_its_own_host_name():
    assert hostname_for("web-1") == "web-1"


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("", "at least one"),
        ("   ", "at least one"),
        ("x" * 101, "at most 100"),
        ("a\u202eb", "direction"),
        ("a\u2066b", "direction"),
        ("a\x00b", "cannot be seen"),
        ("a\nb", "cannot be seen"),
        ("a\u200bb", "cannot be seen"),
        ("\ud800", "cannot be seen"),
        ("a/b", "cannot contain"),
        (".", "another place"),
        ("..", "another place"),
        ("01a22ff3-0b12-7eef-b4ca-db54b55d2d98", "cannot be an id"),
        ("01a22ff30b127eefb4cadb54b55d2d98", "cannot be an id"),
    ],
)
def test_a_name_that_could_mislead_is_refused(raw, words):
    with pytest.raises(InvalidName, match=words):
        normalize_name(raw)


def test_a_name_is_kept_in_its_composed_form():
    assert normalize_name("cafe\u0301") == "caf\u00e9"


@given(st.text(max_size=100))
def test_whatever_is_accepted_is_stable_and_has_a_valid_host_name(raw):
    try:
        name = normalize_name(raw)
    except InvalidName:
        return
    assert normalize_name(name) == name
    assert unicodedata.is_normalized("NFC", name)
    assert LABEL.fullmatch(hostname_for(name))
