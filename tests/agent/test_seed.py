"""The seed: a disk whose label, names and contents a guest can read."""

from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pycdlib import PyCdlib

from agent.seed import meta_data, seed_bytes, write_seed


def contents(data: bytes) -> dict[str, str]:
    image = PyCdlib()
    image.open_fp(io.BytesIO(data))
    found = {}
    for child in image.list_children(rr_path="/"):
        if child.is_file():
            name = child.rock_ridge.name().decode()
            written = io.BytesIO()
            image.get_file_from_iso_fp(written, rr_path=f"/{name}")
            found[name] = written.getvalue().decode()
    image.close()
    return found


def test_the_files_are_found_under_their_own_names() -> None:
    data = seed_bytes(meta_data="instance-id: a\n", user_data="#cloud-config\n")
    assert contents(data) == {"meta-data": "instance-id: a\n", "user-data": "#cloud-config\n"}


def test_a_network_configuration_is_there_only_when_given() -> None:
    data = seed_bytes(meta_data="", user_data="", network_config="version: 2\n")
    assert contents(data)["network-config"] == "version: 2\n"


def test_the_disk_carries_the_label_guests_look_for() -> None:
    data = seed_bytes(meta_data="", user_data="")
    assert data[32808:32840].rstrip() == b"cidata"
    assert len(data) % 512 == 0


@pytest.mark.parametrize("size", [1, 2047, 2048, 2049, 70_000])
def test_user_data_of_any_length_comes_back_whole(size: int) -> None:
    text = "é" * size
    assert contents(seed_bytes(meta_data="", user_data=text))["user-data"] == text


@given(st.text(), st.lists(st.text(st.characters(codec="utf-8"), min_size=1), max_size=3))
def test_meta_data_is_yaml_whatever_the_strings(hostname: str, keys: list[str]) -> None:
    hostname = hostname.encode(errors="replace").decode()
    read = yaml.safe_load(meta_data(instance_id="i", hostname=hostname, ssh_keys=keys))
    assert read["local-hostname"] == hostname
    assert read.get("public-keys", []) == [key.strip() for key in keys]


def test_a_seed_is_replaced_whole_and_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "node" / "seed.iso"
    write_seed(path, meta_data="", user_data="password: one\n")
    write_seed(path, meta_data="", user_data="password: two\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert contents(path.read_bytes())["user-data"] == "password: two\n"
    assert [file.name for file in path.parent.iterdir()] == ["seed.iso"]
