from __future__ import annotations

import pytest

from infra.cli.conditions import find_condition
from infra.cli.failures import ExitCode, Failure


@pytest.mark.parametrize(
    ("kind", "word", "document", "met"),
    [
        ("droplet", "running", {"state": "running"}, True),
        ("droplet", "running", {"state": "unseen"}, False),
        ("droplet", "", {"state": "stopped"}, True),
        ("droplet", "running", None, False),
        ("droplet", "deleted", None, True),
        ("image", "deleted", {"state": ""}, False),
        ("droplet", "spec.vcpus=2", {"spec": {"vcpus": 2}}, True),
        ("droplet", "node.name=n1", {"node": {"name": "n2"}}, False),
        ("node", "drained", {"lifecycle": "drained"}, True),
        ("node", "reachable", {"last_seen": "now", "conditions": []}, True),
        ("node", "reachable", {"last_seen": "now", "conditions": [{"kind": "unreachable"}]}, False),
        ("node", "reachable", {"last_seen": None, "conditions": []}, False),
        ("operation", "", {"state": "reconciling"}, False),
        ("operation", "finished", {"state": "failed"}, True),
    ],
)
def test_a_condition_is_met_by_what_the_server_shows(
    kind: str, word: str, document: dict[str, object] | None, *, met: bool
) -> None:
    assert find_condition(kind, word).is_met(document) is met


def test_an_operation_that_failed_will_not_succeed() -> None:
    wanted = find_condition("operation", "succeeded")

    assert wanted.can_still_be({"state": "reconciling"})
    assert not wanted.can_still_be({"state": "failed"})


@pytest.mark.parametrize(("kind", "word"), [("droplet", "flying"), ("image", "")])
def test_what_cannot_be_waited_for_is_answered_with_what_can(kind: str, word: str) -> None:
    with pytest.raises(Failure) as raised:
        find_condition(kind, word)

    assert raised.value.code == ExitCode.USAGE
    assert "deleted" in raised.value.advice
