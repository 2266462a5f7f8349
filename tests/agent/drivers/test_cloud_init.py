"""A real Debian with cloud-init, built by mmdebstrap, as a droplet under the libvirt driver."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from agent.protocol.declarations import ImageFormat, ImageReference
from agent.protocol.observations import GuestPower
from infra.bootstrap.guestimage import build_debian
from tests.agent.drivers.places import LibvirtPlace, declared

BOOT_SECONDS = 400.0
"""About 50 on an idle machine, all of it emulated."""

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGm0bEAXyfnZ8GyQ1sKfY2t0Zk1mVwXWqHj2b3c4d5e6 ann@example"

USER_DATA = """\
#cloud-config
write_files:
  - path: /usr/local/bin/tell
    permissions: "0755"
    content: |
      #!/bin/sh
      echo "NAME $(hostname)"
      echo "KEY $(cat /home/debian/.ssh/authorized_keys)"
      echo "SSH $(systemctl is-active ssh)"
runcmd:
  - [sh, -c, "/usr/local/bin/tell > /dev/ttyS0"]
"""


@pytest.mark.cloudinit
@pytest.mark.libvirt
@pytest.mark.timeout(900)
def test_cloud_init_applies_name_keys_and_user_data(
    libvirt_place: LibvirtPlace, tmp_path: Path, web: UUID
) -> None:
    built = build_debian(tmp_path / "debian.qcow2", work_dir=tmp_path / "work")
    with built.path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    image = ImageReference(
        resource_id=UUID(int=78),
        sha256=digest,
        format=ImageFormat.QCOW2,
        size_bytes=built.path.stat().st_size,
    )

    @contextlib.contextmanager
    def stream(_image: ImageReference) -> Iterator[Iterator[bytes]]:
        with built.path.open("rb") as file:
            yield iter(lambda: file.read(2**20), b"")

    driver = libvirt_place.driver
    droplet = declared(
        1,
        image=image,
        memory_mib=512,
        disk_gib=3,
        hostname="web-1",
        ssh_keys=(KEY,),
        user_data=USER_DATA,
    )
    driver.fetch_image(image, stream)
    driver.create_disk(droplet)
    driver.define(droplet)
    driver.start(droplet)
    for line in (b"NAME web-1", f"KEY {KEY}".encode(), b"SSH active", b"DataSourceNoCloud"):
        libvirt_place.hear(web, line, seconds=BOOT_SECONDS)

    driver.request_stop(web)
    libvirt_place.wait_power(web, GuestPower.STOPPED)
    driver.remove(web)
