"""The declared documents: what is refused, and where the refusal points."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.errors import Invalid
from inventory.specs import DropletSpec, SshKeySpec
from inventory.specs.base import check_labels, parse_spec

ED25519 = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl ada"


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"vcpus": 0}, "/spec/vcpus"),
        ({"vcpus": "many"}, "/spec/vcpus"),
        ({"memory_mib": 10**30}, "/spec/memory_mib"),
        ({"disk_gib": -1}, "/spec/disk_gib"),
        ({"power": "paused"}, "/spec/power"),
        ({"image": ""}, "/spec/image"),
        ({"image": "a\x00b"}, "/spec/image"),
        ({"user_data": "\ud800"}, "/spec/user_data"),
        ({"user_data": "x" * 65537}, "/spec/user_data"),
        ({"unknown": 1}, "/spec/unknown"),
        ({"stop": {"grace_seconds": 3601}}, "/spec/stop/grace_seconds"),
        ({"affinity": [{"mode": "apart", "labels": {}}]}, "/spec/affinity/0/labels"),
        ({"affinity": [{"mode": "apart", "labels": {"a b": "c"}}]}, "/spec/affinity/0/labels"),
    ],
)
def test_a_bad_field_is_named(changes, pointer):
    with pytest.raises(Invalid) as refusal:
        parse_spec(DropletSpec, {"image": "tiny"} | changes)
    assert [error.pointer for error in refusal.value.errors] == [pointer]


@pytest.mark.parametrize("document", [None, [], "text", 7, {"image": None}])
def test_what_is_not_a_document_is_refused(document):
    with pytest.raises(Invalid):
        parse_spec(DropletSpec, document)


@pytest.mark.parametrize(
    "labels",
    [{"": "x"}, {"a b": "x"}, {"k": "v" * 64}, {"k": 1}, {str(n): "x" for n in range(33)}],
)
def test_odd_labels_are_refused(labels):
    with pytest.raises(Invalid):
        check_labels(labels)


def test_a_public_key_has_opensshs_fingerprint():
    key = parse_spec(SshKeySpec, {"public_key": ED25519})
    assert key.fingerprint == "SHA256:+DiY3wvvV6TuJJhbpZisF/zLDA0zPMSvHdkr4UvCOqU"


@pytest.mark.parametrize(
    "line",
    [
        "",
        "ssh-ed25519",
        "ssh-dss AAAA",
        "ssh-ed25519 !!!!",
        "ssh-rsa " + ED25519.split()[1],
        ED25519 + "\nmore",
    ],
)
def test_what_is_not_a_public_key_is_refused(line):
    with pytest.raises(Invalid):
        parse_spec(SshKeySpec, {"public_key": line})


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=10,
    )
)
def test_no_document_makes_a_spec_fail_in_another_way(document):
    with contextlib.suppress(Invalid):
        parse_spec(DropletSpec, document)
