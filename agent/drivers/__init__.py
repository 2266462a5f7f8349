"""The hypervisors an agent can drive, by the name its configuration gives."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

from agent.drivers.base import Hypervisor

DRIVERS = ("libvirt", "fake")


def open_driver(
    name: str,
    *,
    state_dir: Path,
    installation_id: UUID,
    node_id: UUID,
    uri: str = "qemu:///system",
    verify_images: bool = False,
) -> Hypervisor:
    """Return the driver of this name; it keeps images, disks and guests under `state_dir`.

    `uri` is for libvirt only, `verify_images` for the fake only (libvirt always verifies).
    Raises `ValueError` for a name that is not in `DRIVERS`, and `ImportError` when the binding a
    driver stands on is not installed.
    """
    match name:
        case "fake":
            from agent.drivers.fake import FakeHypervisor  # noqa: PLC0415  only what is driven

            return FakeHypervisor(
                state_dir / "fake",
                installation_id=installation_id,
                node_id=node_id,
                verify_images=verify_images,
            )
        case "libvirt":
            from agent.drivers.libvirt.driver import LibvirtHypervisor  # noqa: PLC0415  as above

            return LibvirtHypervisor(
                state_dir, installation_id=installation_id, node_id=node_id, uri=uri
            )
        case _:
            raise ValueError(f"no driver is named {name!r}; there are {', '.join(DRIVERS)}")
