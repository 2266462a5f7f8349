"""The Debian image boots with cloud-init and does what its seed says."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.seed import meta_data, write_seed
from infra.bootstrap.guestimage import build_debian
from tests.guestimage.guests import running

BOOT_SECONDS = 300.0
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
      echo "ADDRESS $(ip -4 -o addr show scope global | wc -l)"
runcmd:
  - [sh, -c, "/usr/local/bin/tell > /dev/ttyS0"]
"""


@pytest.mark.cloudinit
def test_cloud_init_applies_name_keys_network_and_user_data(tmp_path: Path) -> None:
    image = build_debian(tmp_path / "debian.qcow2", work_dir=tmp_path / "work")
    seed = tmp_path / "seed.iso"
    meta = meta_data(instance_id="i-1", hostname="web-1", ssh_keys=[KEY])
    write_seed(seed, meta_data=meta, user_data=USER_DATA)

    with running(image.path, folder=tmp_path, seed=seed, memory_mib=512) as guest:
        assert guest.line("NAME ", seconds=BOOT_SECONDS) == "web-1"
        assert guest.line("KEY ", seconds=30) == KEY
        assert guest.line("SSH ", seconds=30) == "active"
        assert guest.line("ADDRESS ", seconds=30) == "1"
        finished = guest.line("finished at", seconds=BOOT_SECONDS)
        assert "DataSourceNoCloud" in finished

        guest.press_power_button()
        assert guest.wait_off(seconds=BOOT_SECONDS) == 0
