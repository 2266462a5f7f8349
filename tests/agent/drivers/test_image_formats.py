"""Images that lie about what they are, or would make the emulator open other files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from agent.drivers.base import Rejected
from agent.drivers.libvirt.images import ImageCache
from agent.protocol.declarations import ImageFormat
from tests.agent.drivers.places import reference, streaming

pytestmark = pytest.mark.libvirt


def make(path: Path, *options: str, size: str = "8M") -> bytes:
    """Return a qcow2 file that qemu-img makes with these options."""
    command = ["qemu-img", "create", "-q", "-f", "qcow2", *options, str(path), size]
    subprocess.run(command, check=True)
    return path.read_bytes()


def fetch(folder: Path, data: bytes, image_format: ImageFormat) -> ImageCache:
    cache = ImageCache(folder)
    image = reference(data, image_format)
    cache.fetch(image, lambda _image: streaming(data))
    assert cache.has(image)
    return cache


def refusal(folder: Path, data: bytes, image_format: ImageFormat) -> str:
    with pytest.raises(Rejected) as caught:
        fetch(folder, data, image_format)
    assert list(folder.iterdir()) == []
    return caught.value.code


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "images"
    path.mkdir()
    return path


@pytest.mark.parametrize("compat", ["0.10", "1.1"])
def test_a_qcow2_image_is_taken(folder: Path, tmp_path: Path, compat: str) -> None:
    data = make(tmp_path / "i", "-o", f"compat={compat}")
    fetch(folder, data, ImageFormat.QCOW2)
    assert [path.read_bytes() for path in folder.iterdir()] == [data]


def test_an_image_with_a_backing_file_is_refused(folder: Path, tmp_path: Path) -> None:
    data = make(tmp_path / "i", "-F", "raw", "-b", "/etc/shadow", "-u")
    assert refusal(folder, data, ImageFormat.QCOW2) == "image.refers"


def test_an_image_with_a_data_file_is_refused(folder: Path, tmp_path: Path) -> None:
    data = make(tmp_path / "i", "-o", f"data_file={tmp_path / 'data'},data_file_raw=on")
    assert refusal(folder, data, ImageFormat.QCOW2) == "image.refers"


def test_a_qcow2_image_declared_raw_is_refused(folder: Path, tmp_path: Path) -> None:
    assert refusal(folder, make(tmp_path / "i"), ImageFormat.RAW) == "image.format"


@pytest.mark.parametrize("data", [b"x" * 4096, b"QFI\xfb", b"QFI\xfb" + b"\xff" * 200, b"Q"])
def test_what_is_not_qcow2_is_refused_as_qcow2(folder: Path, data: bytes) -> None:
    assert refusal(folder, data, ImageFormat.QCOW2) == "image.format"


def test_an_encrypted_image_is_refused(folder: Path, tmp_path: Path) -> None:
    data = bytearray(make(tmp_path / "i"))
    data[32:36] = (2).to_bytes(4, "big")  # the header's word for LUKS
    assert refusal(folder, bytes(data), ImageFormat.QCOW2) == "image.encrypted"


@pytest.mark.parametrize("image_format", ["vmdk", "vdi", "vhdx", "qed", "parallels"])
def test_another_format_declared_raw_is_refused(
    folder: Path, tmp_path: Path, image_format: str
) -> None:
    path = tmp_path / "i"
    subprocess.run(["qemu-img", "create", "-q", "-f", image_format, str(path), "8M"], check=True)
    assert refusal(folder, path.read_bytes(), ImageFormat.RAW) == "image.format"
