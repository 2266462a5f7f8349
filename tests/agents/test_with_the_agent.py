"""The agent's own code against the real edge: joining, and the way back."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from agent.identity import Identity, IdentityStore
from agent.joining import enrol, recover
from agent.protocol.messages import POLL_PATH, PollRequest, PollResponse
from agent.wire import TurnedAway, ask, open_line
from inventory.models import Node
from tests.agents.conftest import FakeNode, RunningEdge, new_token


def join(edge: RunningEdge, state: Path, token: str) -> Identity:
    return enrol(
        IdentityStore(state),
        url=edge.enrol_url,
        ca_pem=edge.authority.pem,
        token=token,
        address="127.0.0.1",
        name="n1",
    )


def poll(identity: Identity, machine: FakeNode) -> PollResponse:
    request = PollRequest(incarnation=machine.incarnation, number=1, delivery=0, wait_seconds=0)

    async def once() -> PollResponse:
        async with open_line(identity.about.edge_url, identity.context()) as line:
            return await ask(line, POLL_PATH, request, PollResponse)

    return asyncio.run(once())


def test_an_agent_joins_and_polls(machine: FakeNode, node: Node, tmp_path: Path) -> None:
    identity = join(machine.edge, tmp_path / "state", new_token(node))

    assert identity.about.node_id == node.pk
    assert poll(identity, machine).ledger_wanted


def test_an_agent_with_an_expired_certificate_comes_back(
    machine: FakeNode, node: Node, tmp_path: Path
) -> None:
    identity = join(machine.edge, tmp_path / "state", new_token(node))
    machine.edge.clock.ahead = timedelta(days=31)
    with pytest.raises(TurnedAway) as turned:
        poll(identity, machine)
    assert turned.value.code == "certificate.expired"

    back = recover(IdentityStore(tmp_path / "state"), identity)

    assert back.fingerprint != identity.fingerprint
    assert back.not_after > identity.not_after
