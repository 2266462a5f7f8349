from __future__ import annotations

import json
from pathlib import Path

import pytest

from infra.cli.contexts import Context, Contexts
from infra.cli.failures import ExitCode, Failure
from infra.cli.target import Flags, Target, choose_target, find_local

LAB = Context("http://lab.example:8000", "lab-token")
LOCAL = Context("http://127.0.0.1:8123", "local-token")
NOTHING = Flags()
NOBODY = Contexts()
CHOSEN = Contexts("lab", {"lab": LAB})


def choose(
    *, flags: Flags = NOTHING, contexts: Contexts = NOBODY, local: Context | None = None, **env: str
) -> Target:
    return choose_target(flags, env, contexts, local)


def test_flags_win_over_everything() -> None:
    flags = Flags("http://flag:1", "flag-token")
    target = choose(flags=flags, contexts=CHOSEN, local=LOCAL, INFRA_URL="http://env:1")

    assert (target.url, target.token) == ("http://flag:1", "flag-token")


def test_the_environment_wins_over_contexts() -> None:
    target = choose(contexts=CHOSEN, local=LOCAL, INFRA_URL="http://env:1/", INFRA_TOKEN="t")

    assert (target.url, target.token, target.source) == ("http://env:1", "t", "INFRA_URL")


def test_the_current_context_wins_over_the_installation_of_the_checkout() -> None:
    target = choose(contexts=CHOSEN, local=LOCAL)

    assert (target.url, target.token) == (LAB.url, LAB.token)


def test_the_installation_of_the_checkout_is_used_when_nothing_else_is_said() -> None:
    target = choose(local=LOCAL)

    assert (target.url, target.token) == (LOCAL.url, LOCAL.token)


def test_a_token_is_not_sent_to_an_address_it_does_not_belong_to() -> None:
    elsewhere = choose(flags=Flags(url="http://elsewhere:1"), contexts=CHOSEN, local=LOCAL)
    known = choose(flags=Flags(url=LAB.url + "/"), contexts=CHOSEN, local=LOCAL)

    assert elsewhere.token == ""
    assert known.token == LAB.token


def test_a_data_folder_that_is_named_wins_over_the_current_context() -> None:
    target = choose(contexts=CHOSEN, local=LOCAL, INFRA_DATA_DIR="/somewhere")

    assert (target.url, target.token) == (LOCAL.url, LOCAL.token)


def test_a_context_that_does_not_exist_names_those_that_do() -> None:
    with pytest.raises(Failure, match="lab") as raised:
        choose(flags=Flags(context="prod"), contexts=CHOSEN)

    assert raised.value.code == ExitCode.USAGE


@pytest.mark.parametrize("url", ["lab", "ftp://lab", "http://", "/api"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(Failure, match="no address"):
        choose(flags=Flags(url=url))


def test_a_running_installation_is_found_by_what_its_start_up_wrote(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "secrets").mkdir()
    (tmp_path / "run" / "installation.json").write_text(json.dumps({"url": "http://127.0.0.1:9/"}))
    (tmp_path / "secrets" / "cli_token").write_text("infra_x_y\n")

    assert find_local({"INFRA_DATA_DIR": str(tmp_path)}) == Context(
        "http://127.0.0.1:9", "infra_x_y"
    )


def test_a_half_written_record_of_the_installation_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "installation.json").write_text('{"url": "http')
    (tmp_path / "run" / "supervisor.json").write_text(json.dumps({"port": 8100}))

    assert find_local({"INFRA_DATA_DIR": str(tmp_path)}) == Context("http://127.0.0.1:8100", "")


def test_a_named_data_folder_without_an_installation_is_not_replaced_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "checkout"
    (checkout / "run").mkdir(parents=True)
    (checkout / "run" / "installation.json").write_text('{"url": "http://127.0.0.1:8000"}')
    monkeypatch.setattr("infra.cli.target.default_data_dir", lambda **_: checkout)

    assert find_local({}) is not None
    assert find_local({"INFRA_DATA_DIR": str(tmp_path / "none")}) is None
