"""`infra console` at a real terminal, over the real WebSocket."""

from __future__ import annotations

import os
import signal

import pytest

from tests.cli.command import Infra
from tests.cli.guests import EchoGuest
from tests.cli.live import Fleet
from tests.operations.fleet import WireNode
from tests.waiting import wait_until


@pytest.fixture
def hello(live: Infra, fleet: Fleet) -> Infra:
    """The command, where a droplet `hello` runs."""
    ran = live("create", "droplet", "hello", "--image", "tiny")
    assert ran.code == 0, ran.err
    return live


@pytest.mark.parametrize("leaving", [b"\x1d", b"\r~."])
def test_keys_go_to_the_guest_and_leaving_gives_the_terminal_back(
    hello: Infra, node: WireNode, leaving: bytes
) -> None:
    with EchoGuest(node.node_id) as guest, hello.at_terminal("console", "hello") as terminal:
        terminal.wait_for(b"what was said before")
        terminal.wait_for(b"Leave with Ctrl-]")
        terminal.type(b"ls\x03\x04\t")
        terminal.wait_for(b"LS")
        wait_until(lambda: guest.heard == b"ls\x03\x04\t", what="every key to arrive")
        assert terminal.settings != terminal.at_first
        terminal.type(leaving)

        assert terminal.wait() == 0
        assert terminal.settings == terminal.at_first
        assert b"the guest goes on" in terminal.screen


def test_a_guest_that_ends_is_said_and_the_terminal_given_back(
    hello: Infra, node: WireNode
) -> None:
    with EchoGuest(node.node_id), hello.at_terminal("console", "hello") as terminal:
        terminal.wait_for(b"login: ")
        terminal.type(b"poweroff\r")

        assert terminal.wait() == 0
        assert terminal.settings == terminal.at_first
        assert b"The guest has ended." in terminal.screen


def test_a_console_that_is_ended_from_outside_gives_the_terminal_back(
    hello: Infra, node: WireNode
) -> None:
    with EchoGuest(node.node_id), hello.at_terminal("console", "hello") as terminal:
        terminal.wait_for(b"login: ")
        os.kill(terminal.process.pid, signal.SIGTERM)

        assert terminal.wait() == 0
        assert terminal.settings == terminal.at_first


def test_whoever_is_taken_over_is_told_by_whom(hello: Infra, node: WireNode) -> None:
    with EchoGuest(node.node_id), hello.at_terminal("console", "hello") as first:
        first.wait_for(b"login: ")
        with hello.at_terminal("console", "hello") as second:
            assert first.wait() == 4
            assert b"taken the console over" in first.screen
            assert first.settings == first.at_first
            second.wait_for(b"login: ")


def test_a_droplet_on_no_node_has_no_console(live: Infra, fleet: Fleet) -> None:
    fleet.pause()
    live("create", "droplet", "waiting", "--image", "tiny", "--no-wait")

    ran = live.alone("console", "waiting")

    assert ran.code == 4
    assert "on no node" in ran.err
    assert live("console", "nothing").code == 3


def test_input_that_is_no_terminal_is_passed_on(hello: Infra, node: WireNode) -> None:
    with EchoGuest(node.node_id) as guest:
        ran = hello.alone("console", "hello", text="poweroff\r")

    assert ran.code == 0
    assert guest.heard == b"poweroff\r"
    assert "POWEROFF" in ran.out
