"""The hello image is built the same twice, boots, reads its seed, and obeys."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from agent.seed import meta_data, write_seed
from infra.bootstrap.guestimage import BuiltImage, build_hello
from tests.guestimage.guests import running

pytestmark = pytest.mark.libvirt

BOOT_SECONDS = 60.0
"""Two to four on an idle machine; tests share two cores with others."""


@pytest.fixture(scope="module")
def work_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packages")


@pytest.fixture(scope="module")
def hello(work_dir: Path) -> BuiltImage:
    return build_hello(work_dir / "hello.qcow2", work_dir=work_dir)


def seed(folder: Path, *, user_data: str = "") -> Path:
    path = folder / "seed.iso"
    keys = ("ssh-ed25519 AAAAC3Nza ann@example", "ecdsa-sha2-nistp256 AAAAE2Vj bob")
    meta = meta_data(instance_id="i-1", hostname="web-1", ssh_keys=keys)
    write_seed(path, meta_data=meta, user_data=user_data)
    return path


def test_a_second_build_has_the_same_digest(hello: BuiltImage, work_dir: Path) -> None:
    again = build_hello(work_dir / "again.qcow2", work_dir=work_dir)
    assert again.sha256 == hello.sha256
    assert list(work_dir.glob(".*")) == []


def test_a_spoilt_package_is_fetched_again(hello: BuiltImage, work_dir: Path) -> None:
    package = next((work_dir / "archives").glob("busybox-static_*"))
    data = bytearray(package.read_bytes())
    data[len(data) // 2] ^= 0xFF
    package.write_bytes(data)
    assert build_hello(work_dir / "mended.qcow2", work_dir=work_dir).sha256 == hello.sha256


def test_the_description_is_what_qemu_sees(hello: BuiltImage) -> None:
    answer = subprocess.check_output(["qemu-img", "info", "--output=json", hello.path])
    seen = json.loads(answer)
    assert seen["format"] == hello.format == "qcow2"
    assert seen["virtual-size"] == hello.virtual_size_bytes
    assert hello.path.stat().st_size == hello.size_bytes


def test_it_says_hello_without_a_seed(hello: BuiltImage, tmp_path: Path) -> None:
    with running(hello.path, folder=tmp_path, memory_mib=96) as guest:
        assert guest.line("HELLO ", seconds=BOOT_SECONDS).startswith("hello up ")


def test_it_takes_name_keys_address_and_script_from_its_seed(
    hello: BuiltImage, tmp_path: Path
) -> None:
    script = (
        "#!/bin/sh\necho SCRIPT on $(hostname) with $(ip -4 -o addr show eth0 | wc -l) address\n"
    )
    path = seed(tmp_path, user_data=script)
    with running(hello.path, folder=tmp_path, seed=path) as guest:
        assert guest.line("HELLO ", seconds=BOOT_SECONDS).startswith("web-1 up ")
        assert guest.line("KEYS ", seconds=BOOT_SECONDS) == "2"
        assert guest.line("DHCP ", seconds=BOOT_SECONDS) == "eth0 10.0.2.15/24"
        assert guest.line("SCRIPT ", seconds=BOOT_SECONDS) == "on web-1 with 1 address"
        assert guest.line("USER-DATA ", seconds=BOOT_SECONDS) == "ended with 0"


def test_its_console_is_a_shell(hello: BuiltImage, tmp_path: Path) -> None:
    with running(hello.path, folder=tmp_path) as guest:
        guest.expect("hello:~#", seconds=BOOT_SECONDS)
        guest.type("echo seven is $((3 + 4))")
        guest.expect("seven is 7", seconds=BOOT_SECONDS)


def test_it_goes_down_when_the_power_button_is_pressed(hello: BuiltImage, tmp_path: Path) -> None:
    with running(hello.path, folder=tmp_path) as guest:
        guest.expect("hello:~#", seconds=BOOT_SECONDS)
        guest.press_power_button()
        guest.expect("POWER button pressed", seconds=BOOT_SECONDS)
        assert guest.wait_off(seconds=BOOT_SECONDS) == 0


def test_it_comes_back_after_a_reboot(hello: BuiltImage, tmp_path: Path) -> None:
    with running(hello.path, folder=tmp_path, seed=seed(tmp_path)) as guest:
        guest.expect("web-1:~#", seconds=BOOT_SECONDS)
        guest.type("reboot")
        assert guest.line("HELLO ", seconds=BOOT_SECONDS).startswith("web-1 up ")
