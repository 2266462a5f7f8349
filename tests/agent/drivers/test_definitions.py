"""The XML of droplets: what libvirt's own schema takes, whatever people call their droplets."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from agent.drivers.libvirt.xml import (
    Files,
    Machine,
    Mark,
    Owner,
    domain_name,
    domain_xml,
    read_domain,
    title,
)
from agent.protocol.declarations import DropletDeclaration
from agent.protocol.values import Generation
from tests.agent.drivers.places import IMAGE, INSTALLATION, NODE, LibvirtPlace, declared

SCHEMA = Path("/usr/share/libvirt/schemas/domain.rng")
OWNER = Owner(INSTALLATION, NODE)
MACHINE = Machine("/usr/bin/qemu-system-x86_64", "qemu")
FILES = Files(
    disk=Path("/s/droplets/1/root-0.qcow2"),
    image=Path(f"/s/images/{IMAGE.sha256}"),
    image_format="raw",
    seed=Path("/s/droplets/1/seed.iso"),
    console_log=Path("/s/droplets/1/console.log"),
)

names = st.text(min_size=1, max_size=200)
hostile = st.sampled_from(
    [
        "</title><devices/>",
        "]]>",
        "&amp;&#x0;",
        "\x00",
        "a\nb",
        "\ud800",
        "\ufffe",
        "服务测试",
        " ",
        "<!--",
        "\u202egnp.exe",
    ]
)


@cache
def schema() -> etree.RelaxNG:
    return etree.RelaxNG(etree.parse(str(SCHEMA)))


def xml_of(it: DropletDeclaration, machine: Machine = MACHINE) -> str:
    return domain_xml(it, owner=OWNER, machine=machine, files=FILES)


def with_name(name: str) -> DropletDeclaration:
    return declared(1).model_copy(update={"name": name})


@pytest.mark.libvirt
@settings(max_examples=60, deadline=None)
@given(name=names | hostile)
def test_every_name_gives_a_definition_that_the_schema_takes(name: str) -> None:
    document = etree.fromstring(xml_of(with_name(name)).encode())
    schema().assertValid(document)
    assert len(document.findall("devices")) == 1
    assert document.findtext("name") == domain_name(UUID(int=1))


@given(name=names | hostile)
def test_a_title_is_one_line_of_what_xml_can_hold(name: str) -> None:
    made = title(name)
    assert made.strip()
    assert made.isprintable()


@given(
    epoch=st.integers(1, 2**40),
    counter=st.integers(1, 2**40),
    restarts=st.integers(0, 2**40),
    rebuilds=st.integers(0, 2**40),
    vcpus=st.integers(1, 512),
    memory_mib=st.integers(1, 2**22),
)
def test_what_is_written_is_read_back(**numbers: int) -> None:
    generation = Generation(epoch=numbers.pop("epoch"), counter=numbers.pop("counter"))
    it = declared(1, **numbers).model_copy(update={"generation": generation})
    read = read_domain(xml_of(it))
    assert (read.vcpus, read.memory_mib) == (it.vcpus, it.memory_mib)
    assert read.name == domain_name(it.resource_id)
    assert read.mark == Mark(
        owner=OWNER,
        resource_id=it.resource_id,
        generation=generation,
        restarts=it.restarts,
        rebuilds=it.rebuilds,
        image_sha256=IMAGE.sha256,
    )


@given(text=st.text(max_size=300))
def test_text_that_is_no_definition_is_told_as_such(text: str) -> None:
    try:
        read_domain(text)
    except ValueError:
        return


def test_entities_of_a_document_are_not_resolved() -> None:
    text = "<!DOCTYPE d [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><domain><name>&e;</name></domain>"
    assert "root" not in read_domain(text).name


def test_a_droplet_gets_the_devices_it_needs_and_no_network_of_libvirt() -> None:
    document = etree.fromstring(xml_of(declared(1)).encode())
    devices = document.find("devices")
    assert devices is not None
    assert [disk.get("device") for disk in devices.findall("disk")] == ["disk", "disk"]
    assert [target.get("bus") for target in devices.iterfind("disk/target")] == ["virtio"] * 2
    assert devices.find("interface") is None
    assert devices.find("graphics") is None
    assert devices.find("rng") is not None
    endings = {name: document.findtext(name) for name in ("on_poweroff", "on_reboot", "on_crash")}
    assert endings == {"on_poweroff": "destroy", "on_reboot": "restart", "on_crash": "destroy"}


@pytest.mark.parametrize("domain_type", ["kvm", "qemu"])
def test_the_accelerator_is_the_one_that_was_found(domain_type: str) -> None:
    document = etree.fromstring(xml_of(declared(1), Machine("/q", domain_type)).encode())
    assert document.get("type") == domain_type


@pytest.mark.libvirt
@pytest.mark.parametrize(
    "name", ["</title><devices/>", "服务测试", "a\nb", "\u202egnp.exe", "&#x0;"]
)
def test_libvirt_itself_takes_odd_names(libvirt_place: LibvirtPlace, name: str) -> None:
    libvirt_place.make(with_name(name))
    assert libvirt_place.seen(UUID(int=1)).memory_mib == 32
