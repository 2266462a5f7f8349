"""How many queries each request makes: kept in query_counts.json, constant however long a list.

`pytest tests/api/test_query_counts.py --write-query-counts` writes the file anew.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests import factories
from tests.api.client import Api, token_of

KEPT = Path(__file__).parents[1] / "query_counts.json"
AUTHENTICATION = 2
"""The token with its person, and the roles of a person. The last use is written only rarely."""

LIST_BUDGET = 6
READS = (
    "droplets",
    "droplets/d0",
    "droplets?zone=home&label=a=b&q=d",
    "images",
    "images/tiny",
    "sshkeys",
    "resources",
    "nodes",
    "nodes/n1",
    "zones",
    "zones/home",
    "owners",
    "operations",
    "operations?state=open",
    "operations/{operation}",
    "tokens",
    "audit",
    "found",
    "me",
)
LISTS = tuple(path for path in READS if "/" not in path and "?" not in path and path != "me")
WRITES = {
    "POST droplets": {"name": "new", "spec": {"image": "tiny"}},
    "POST droplets/d0/stop": {},
    "PATCH droplets/d0": {"labels": {"x": "y"}},
    "POST sshkeys": {"name": "k", "spec": {"public_key": factories.PUBLIC_KEY}},
    "POST apply": [
        {"apiVersion": "infra/v1", "kind": "Zone", "metadata": {"name": "home"}, "spec": {}}
    ],
}


@pytest.fixture
def world(admin, droplet_factory, node_factory, call):
    node = node_factory("n1")
    operation = droplet_factory("d0", on=node, labels={"a": "b"}, zone="home").operations.get()
    api = Api(token_of(admin))
    api.get("me")  # from now on the last use of the token is known

    def grow(count: int) -> None:
        for index in range(1, count):
            other = factories.make_node(call, f"n{index + 1}")
            droplet_factory(f"d{index}", on=other, labels={"a": "b"}, zone="home")

    def count(method: str, path: str, body: object = None, **headers: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as captured:
            answer = api.ask(method, path.format(operation=operation.pk), body, **headers)
        assert answer.status_code < 300, answer.content
        return len(captured)

    count.grow = grow
    return count


def counts(world) -> dict[str, int]:
    found = {f"GET {path}": world("GET", path) for path in READS}
    for name, body in WRITES.items():
        method, _, path = name.partition(" ")
        found[name] = world(method, path, body)
    body = {"name": "keyed", "spec": {"image": "tiny"}}
    found["POST droplets with a key"] = world("POST", "droplets", body, Idempotency_Key="k")
    return found


def test_no_request_makes_more_queries_than_are_kept(world, request):
    found = counts(world)
    if request.config.getoption("--write-query-counts"):
        KEPT.write_text(json.dumps(found, indent=2) + "\n")
    kept = json.loads(KEPT.read_text())
    assert found == kept, "run with --write-query-counts, and say why in the commit"


def test_lists_stay_within_their_budget_however_long(world):
    short = {path: world("GET", path) for path in LISTS}
    world.grow(6)
    long = {path: world("GET", path) for path in LISTS}
    assert long == short
    over = {path: count for path, count in long.items() if count > LIST_BUDGET + AUTHENTICATION}
    assert not over
