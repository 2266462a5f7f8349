"""The pure parts of making an image."""

from __future__ import annotations

import lzma
import struct
import subprocess
from pathlib import Path

import pytest

from infra.bootstrap.guestimage import BuildFailed, cpio
from infra.bootstrap.guestimage.bootdisk import (
    FIRST_SECTOR,
    MIB,
    SECTOR,
    Partition,
    boot_sectors,
    loader_config,
    partition_table,
)
from infra.bootstrap.guestimage.debian import PACKAGES, check_tools, mmdebstrap_command
from infra.bootstrap.guestimage.kernelmodules import dependencies, in_loading_order, unpacked
from infra.bootstrap.guestimage.packages import Archive, only, parse_dependency, parse_uris


def module(*needs: str) -> bytes:
    return b"\x7fELF..\0license=GPL\0depends=" + ",".join(needs).encode() + b"\0retpoline=Y\0"


def test_the_archive_is_one_that_cpio_reads() -> None:
    entries = [
        cpio.folder("bin"),
        cpio.file("bin/tool", b"12345", 0o755),
        cpio.link("bin/alias", "tool"),
        cpio.character_device("console", 5, 1),
    ]
    data = cpio.archive(entries, mtime=0)
    listed = subprocess.run(
        ["busybox", "cpio", "-tv"], input=data, capture_output=True, check=True
    ).stdout.decode()
    rows = [line.split() for line in listed.splitlines()]
    assert [row[0] for row in rows] == ["drwxr-xr-x", "-rwxr-xr-x", "lrwxrwxrwx", "crw-------"]
    assert "bin/alias -> tool" in listed


def test_the_archive_depends_only_on_its_entries() -> None:
    entries = [cpio.file("a", b"1"), cpio.file("b", b"22")]
    assert cpio.archive(entries, mtime=7) == cpio.archive(list(entries), mtime=7)
    assert len(cpio.archive(entries, mtime=7)) % 512 == 0


def test_modules_come_after_what_they_need() -> None:
    stock = {"net": module("failover", "ring"), "failover": module(), "ring": module()}
    assert list(in_loading_order(["net"], stock.get)) == ["failover", "ring", "net"]


def test_a_module_that_is_built_in_is_left_out() -> None:
    assert in_loading_order(["ext4"], {}.get) == {}


def test_a_missing_dependency_is_refused_by_name() -> None:
    with pytest.raises(BuildFailed, match="net needs failover"):
        in_loading_order(["net"], {"net": module("failover")}.get)


def test_one_spelling_of_a_name_finds_the_module() -> None:
    assert list(in_loading_order(["virtio-rng"], {"virtio_rng": module()}.get)) == ["virtio_rng"]
    assert dependencies(module("rng-core")) == ("rng_core",)


def test_compressed_modules_are_read_too() -> None:
    assert unpacked(lzma.compress(module())) == module()


def test_partitions_follow_each_other_in_the_first_sector() -> None:
    boot = Partition(0x0E, FIRST_SECTOR, 100, bootable=True)
    root = Partition(0x83, FIRST_SECTOR + 100, 200)
    sector = partition_table([boot, root], b"\xeb")
    assert len(sector) == 512
    assert sector.endswith(b"\x55\xaa")
    assert sector[446] == 0x80
    assert sector[462] == 0
    assert struct.unpack_from("<II", sector, 462 + 8) == (FIRST_SECTOR + 100, 200)


def test_too_much_for_the_first_sector_is_refused() -> None:
    with pytest.raises(ValueError, match="440"):
        partition_table([], bytes(441))


@pytest.mark.parametrize("content", [0, 1, 4 * MIB, 15 * MIB, 29 * MIB, 100 * MIB])
def test_the_boot_partition_has_room_for_its_content(content: int) -> None:
    length = boot_sectors(content) * SECTOR
    assert length >= content + 4 * MIB
    assert length % (8 * MIB) == 0


def test_the_loader_boots_one_kernel_at_once() -> None:
    config = loader_config(append="console=ttyS0")
    assert "PROMPT 0" in config
    assert "APPEND console=ttyS0\n" in config


def test_what_apt_offers_is_read_with_its_size() -> None:
    answer = (
        "'http://deb.debian.org/p/b_1%3a2_amd64.deb' b_1%3a2_amd64.deb 928188 SHA256:ab\n"
        "'http://deb.debian.org/p/c.deb' c.deb 7 MD5Sum:cd\n"
        "W: something\n"
    )
    assert parse_uris(answer) == [
        Archive("b_1%3a2_amd64.deb", 928188, "ab"),
        Archive("c.deb", 7, None),
    ]


def test_the_kernel_behind_a_metapackage_is_found() -> None:
    shown = (
        "Package: linux-image-cloud-amd64\nDepends: foo, linux-image-6.1.0-57-cloud-amd64 (= 6)\n"
    )
    assert parse_dependency(shown, "linux-image-") == "linux-image-6.1.0-57-cloud-amd64"
    assert parse_dependency("Package: x\n", "linux-image-") is None


def test_exactly_one_file_is_wanted(tmp_path: Path) -> None:
    (tmp_path / "vmlinuz-1").touch()
    assert only(tmp_path, "vmlinuz-*").name == "vmlinuz-1"
    (tmp_path / "vmlinuz-2").touch()
    with pytest.raises(BuildFailed, match="found 2"):
        only(tmp_path, "vmlinuz-*")


def test_a_mirror_is_named_last_and_only_when_given(tmp_path: Path) -> None:
    def words(mirror: str | None) -> list[str]:
        return mmdebstrap_command(
            tmp_path / "root.tar", overlay=tmp_path, suite="bookworm", mirror=mirror
        )

    assert words(None)[-2:] == ["bookworm", str(tmp_path / "root.tar")]
    assert words("http://mirror.example/debian")[-1] == "http://mirror.example/debian"
    assert f"--include={','.join(PACKAGES)}" in words(None)


def test_missing_programs_are_named_by_their_packages(tmp_path: Path) -> None:
    with pytest.raises(BuildFailed, match=r"apt-get install e2fsprogs mmdebstrap qemu-utils$"):
        check_tools(as_root=True, search=str(tmp_path))
    with pytest.raises(BuildFailed, match=r"e2fsprogs fakeroot mmdebstrap qemu-utils uidmap$"):
        check_tools(as_root=False, search=str(tmp_path))
