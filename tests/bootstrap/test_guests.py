"""Whose guests the guests of this machine are."""

from uuid import UUID

from agent.drivers.libvirt.xml import NAMESPACE
from infra.bootstrap.guests import MARK, Guest, parse_guest, running_guests
from infra.bootstrap.record import Choices

ID = str(UUID(int=7))


def domain(metadata: str) -> str:
    return f"<domain><name>infra-x</name><uuid>{ID}</uuid>{metadata}</domain>"


def test_a_guest_with_our_mark_names_its_installation() -> None:
    mark = f'<infra:droplet xmlns:infra="{NAMESPACE}" installation="abc" node="n"/>'
    assert parse_guest(domain(f"<metadata>{mark}</metadata>")) == Guest(ID, "infra-x", "abc")


def test_the_mark_is_the_one_the_agent_writes() -> None:
    assert f"{{{NAMESPACE}}}droplet" == MARK


def test_guests_of_others_belong_to_no_installation() -> None:
    for text in (domain(""), domain("<metadata><other/></metadata>")):
        guest = parse_guest(text)
        assert guest is not None
        assert guest.installation == ""


def test_what_is_no_domain_is_nothing() -> None:
    assert parse_guest("") is None


def test_before_the_first_run_there_are_no_guests() -> None:
    assert running_guests(Choices()) == []
