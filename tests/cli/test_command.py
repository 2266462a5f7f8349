"""The command by itself: without a server to speak to."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from infra.cli.reference import reference
from tests.cli.command import CHECKOUT, Infra

QUICK = "import resource, sys; import infra.cli.main; print(*sys.modules)"


def test_the_reference_is_what_the_command_says_of_itself() -> None:
    written = (CHECKOUT / "docs" / "cli.md").read_text()

    assert written == reference(), "python -m infra.cli.reference > docs/cli.md"


def test_help_loads_neither_django_nor_a_client() -> None:
    loaded = subprocess.run(
        [sys.executable, "-c", QUICK], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.split()

    assert not {"django", "httpx2", "websockets", "pydantic", "celery"} & set(loaded)


def test_a_server_that_is_not_there_is_named_with_how_to_start_it(infra: Infra) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        ran = infra("get", "droplets", INFRA_URL=url)

    assert ran.code == 1
    assert ran.out == ""
    assert url in ran.err
    assert "./manage.py up" in ran.err
    assert "Nothing was sent" in ran.err


def test_a_server_that_is_none_of_ours_is_said(infra: Infra) -> None:
    class Stranger(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(404 if "nodes" in self.path else 200)
            self.end_headers()
            self.wfile.write(b"<html>It works!</html>")

    with HTTPServer(("127.0.0.1", 0), Stranger) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = {"INFRA_URL": f"http://127.0.0.1:{server.server_port}"}
        for kind, code in (("droplets", 1), ("nodes", 3)):
            ran = infra("get", kind, **told)
            assert (ran.code, ran.out) == (code, "")
            assert "not as Infra does" in ran.err
        server.shutdown()


@pytest.mark.parametrize(
    "words",
    [
        ["get", "dropplets"],
        ["get"],
        ["nonsense"],
        ["get", "droplets", "-o", "xml"],
        ["apply", "-f", "/nowhere.yaml"],
        ["resize", "hello"],
        ["resize", "hello", "--memory", "lots"],
        ["--context", "nowhere", "get", "nodes"],
        ["--url", "nowhere", "get", "nodes"],
    ],
)
def test_a_command_line_that_cannot_be_meant_ends_with_2(infra: Infra, words: list[str]) -> None:
    ran = infra(*words)

    assert ran.code == 2
    assert ran.out == ""
    assert "Traceback" not in ran.err


def test_a_slip_in_a_kind_is_answered_with_what_was_meant(infra: Infra) -> None:
    assert "Did you mean droplets?" in infra("get", "dropplets").err


def test_a_reader_that_goes_away_ends_the_command_without_words(infra: Infra) -> None:
    ran = infra.in_shell(f"{infra.shown('completion', 'bash')} | true")

    assert (ran.out, ran.err) == ("", "")


def test_contexts_are_kept_chosen_and_never_shown_with_their_tokens(infra: Infra) -> None:
    infra("context", "set", "lab", "--url", "http://lab:8000/", "--token", "secret")
    infra("context", "set", "home", "--url", "http://127.0.0.1:8000")
    assert infra("context", "use", "lab").code == 0

    listed = infra("context", "list")

    assert [line.split() for line in listed.out.splitlines()] == [
        ["CURRENT", "NAME", "URL", "TOKEN"],
        ["home", "http://127.0.0.1:8000", "no"],
        ["*", "lab", "http://lab:8000", "yes"],
    ]
    assert "secret" not in listed.out
    assert infra("context", "use", "nowhere").code == 2
    assert infra("context", "remove", "nowhere").code == 3


def test_the_terminal_has_colours_and_no_color_takes_them_all(infra: Infra) -> None:
    infra("context", "set", "lab", "--url", "http://lab:8000")
    with infra.at_terminal("context", "list") as coloured:
        assert coloured.wait() == 0
    with infra.at_terminal("context", "list", NO_COLOR="1") as plain:
        assert plain.wait() == 0

    assert b"\x1b[1mNAME" in coloured.screen
    assert b"\x1b" not in plain.screen
    assert b"http://lab:8000" in plain.screen


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_written_for_each_shell(infra: Infra, shell: str) -> None:
    ran = infra("completion", shell)

    assert ran.code == 0
    assert "_INFRA_COMPLETE" in ran.out
