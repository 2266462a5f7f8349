"""The words of libvirt: writes a droplet's definition, and reads back what a guest says it is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from lxml import etree

from agent.protocol.declarations import DropletDeclaration
from agent.protocol.values import Generation

NAMESPACE = "urn:infra:droplet"
NAME_PREFIX = "infra-"
TITLE_LENGTH = 100
KIB_PER_MIB = 1024
_UNITS_IN_KIB = {"KiB": 1, "k": 1, "MiB": 1024, "M": 1024, "GiB": 1024**2, "G": 1024**2}


@dataclass(frozen=True)
class Owner:
    """Whose guests a driver may touch: those of this installation on this node."""

    installation_id: UUID
    node_id: UUID


@dataclass(frozen=True)
class Machine:
    """What this node gives to every guest. `domain_type` is `kvm` or `qemu`."""

    emulator: str
    domain_type: str


@dataclass(frozen=True)
class Files:
    """The files a guest is made of; `image_format` is `raw` or `qcow2`."""

    disk: Path
    image: Path
    image_format: str
    seed: Path
    console_log: Path


@dataclass(frozen=True)
class Mark:
    """What our metadata says of a guest."""

    owner: Owner
    resource_id: UUID
    generation: Generation
    restarts: int
    rebuilds: int
    image_sha256: str


@dataclass(frozen=True)
class Description:
    """What one XML document of a guest says: MiB, and `mark` None when it bears none of ours.

    `active` is True for the document of a guest that ran when it was written.
    """

    name: str
    active: bool
    domain_type: str
    vcpus: int
    memory_mib: int
    mark: Mark | None


def domain_name(resource_id: UUID) -> str:
    """Return the name a droplet's guest has in libvirt."""
    return f"{NAME_PREFIX}{resource_id}"


def domain_xml(droplet: DropletDeclaration, *, owner: Owner, machine: Machine, files: Files) -> str:
    """Return the definition of the droplet's guest."""
    # KVM gives the processor as it is; emulation gives all it can, for guests want v2 and later.
    cpu = "host-passthrough" if machine.domain_type == "kvm" else "maximum"
    domain = _e(
        "domain",
        _e("name", domain_name(droplet.resource_id)),
        _e("uuid", str(droplet.resource_id)),
        _e("title", title(droplet.name)),
        _e("metadata", _mark(droplet, owner)),
        _e("memory", str(droplet.memory_mib), unit="MiB"),
        _e("vcpu", str(droplet.vcpus), placement="static"),
        _e("os", _e("type", "hvm", arch="x86_64", machine="pc"), _e("boot", dev="hd")),
        _e("features", _e("acpi"), _e("apic")),
        _e("cpu", mode=cpu),
        _e("clock", offset="utc"),
        _e("on_poweroff", "destroy"),
        _e("on_reboot", "restart"),
        _e("on_crash", "destroy"),
        _e(
            "devices",
            _e("emulator", machine.emulator),
            _root_disk(files),
            _seed_disk(files),
            _e("controller", type="usb", model="none"),
            _e(
                "serial",
                _e("log", file=str(files.console_log), append="on"),
                _e("target", port="0"),
                type="pty",
            ),
            _e("console", _e("target", type="serial", port="0"), type="pty"),
            _e("channel", _e("target", type="virtio", name="org.qemu.guest_agent.0"), type="unix"),
            _e("rng", _e("backend", "/dev/urandom", model="random"), model="virtio"),
            _e("memballoon", model="virtio"),
        ),
        type=machine.domain_type,
    )
    return etree.tostring(domain, encoding="unicode", pretty_print=True)


def read_domain(text: str) -> Description:
    """Return what the XML of any guest says. Raises `ValueError` if it is not a guest's."""
    try:
        domain = etree.fromstring(text.encode(), etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError as error:
        raise ValueError(f"not XML: {error}") from error
    memory = domain.find("memory")
    return Description(
        name=domain.findtext("name") or "",
        active=domain.get("id") is not None,
        domain_type=domain.get("type") or "",
        vcpus=int(domain.findtext("vcpu") or 0),
        memory_mib=_mib(memory) if memory is not None else 0,
        mark=_read_mark(domain.find(f"metadata/{{{NAMESPACE}}}droplet")),
    )


def title(name: str) -> str:
    """Return the name as libvirt can hold it: one line of printable characters."""
    plain = "".join(c if c.isprintable() else "?" for c in name[:TITLE_LENGTH])
    return plain.strip() or "droplet"


def _e(tag: str, *inside: str | etree._Element, **attributes: str) -> etree._Element:
    """Return an element with these attributes around this text or these elements."""
    element = etree.Element(tag)
    for name, value in attributes.items():
        element.set(name, value)
    for part in inside:
        if isinstance(part, str):
            element.text = part
        else:
            element.append(part)
    return element


def _root_disk(files: Files) -> etree._Element:
    # The image is shared by many guests: libvirt must not give it away to one of them.
    shared = _e("source", _e("seclabel", model="dac", relabel="no"), file=str(files.image))
    return _e(
        "disk",
        _e("driver", name="qemu", type="qcow2", discard="unmap"),
        _e("source", file=str(files.disk)),
        _e(
            "backingStore",
            _e("format", type=files.image_format),
            shared,
            _e("backingStore"),
            type="file",
        ),
        _e("target", dev="vda", bus="virtio"),
        type="file",
        device="disk",
    )


def _seed_disk(files: Files) -> etree._Element:
    return _e(
        "disk",
        _e("driver", name="qemu", type="raw"),
        _e("source", file=str(files.seed)),
        _e("target", dev="vdb", bus="virtio"),
        _e("readonly"),
        type="file",
        device="disk",
    )


def _mark(droplet: DropletDeclaration, owner: Owner) -> etree._Element:
    said = {
        "installation": str(owner.installation_id),
        "node": str(owner.node_id),
        "resource": str(droplet.resource_id),
        "epoch": str(droplet.generation.epoch),
        "counter": str(droplet.generation.counter),
        "restarts": str(droplet.restarts),
        "rebuilds": str(droplet.rebuilds),
        "image": droplet.image.sha256,
    }
    mark = etree.Element(f"{{{NAMESPACE}}}droplet", nsmap={"infra": NAMESPACE})
    for name, value in said.items():
        mark.set(name, value)
    return mark


def _read_mark(element: etree._Element | None) -> Mark | None:
    """Return the mark, or None if there is none or somebody wrote nonsense into it."""
    if element is None:
        return None
    said = {str(key): str(value) for key, value in element.attrib.items()}
    try:
        return Mark(
            owner=Owner(UUID(said["installation"]), UUID(said["node"])),
            resource_id=UUID(said["resource"]),
            generation=Generation(epoch=int(said["epoch"]), counter=int(said["counter"])),
            restarts=int(said["restarts"]),
            rebuilds=int(said["rebuilds"]),
            image_sha256=said["image"],
        )
    except (KeyError, ValueError):
        return None


def _mib(memory: etree._Element) -> int:
    kib = _UNITS_IN_KIB.get(memory.get("unit") or "KiB", 1)
    return int(memory.text or 0) * kib // KIB_PER_MIB
