"""No page asks the database more often because there is more to show.

Each page is read with little and with much in the inventory; the counts must be equal, and equal to
the ones in query_counts.json. `INFRA_REWRITE_QUERY_COUNTS=1` writes that file anew: review the diff.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from inventory.models import FoundObject, Node, NodeCondition
from tests import factories
from tests.console.addresses import FORMS, FRAGMENTS, LISTS, details
from tests.console.world import World

pytestmark = pytest.mark.django_db
KEPT = Path(__file__).with_name("query_counts.json")


def count(browser: Client, pages: dict[str, str]) -> dict[str, int]:
    counts = {}
    for name, address in pages.items():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            assert browser.get(address).status_code == 200, address
        counts[name] = len(queries)
    return counts


def more_of_everything(world: World) -> None:
    for number in range(6):
        zone = factories.make_zone(world.call, f"more-{number}", parent="europe")
        node = factories.make_node(world.call, f"more-{number}", zone=zone.name)
        NodeCondition.objects.create(node_id=node.node_id, kind="unreachable", since=world.call.now)
        factories.make_droplet(
            world.call, f"more-{number}", on=node, zone=zone.pk, memory_mib=64, ssh_keys=("ada",)
        )
        factories.make_droplet(world.call, f"huge-{number}", memory_mib=900_000)
        factories.make_image(world.call, f"more-{number}", sha256=f"{number:064x}")
        factories.make_ssh_key(world.call, f"more-{number}")
        found = FoundObject.objects.first()
        assert found is not None
        FoundObject.objects.create(
            node=Node.objects.get(pk=node.node_id),
            native_id=f"more-{number}",
            name=f"more-{number}",
            power="running",
            first_seen=world.call.now,
            last_seen=world.call.now,
        )


def test_every_page_makes_the_same_number_of_queries_however_much_there_is(
    browser: Client, world: World
) -> None:
    pages = {address: address for address in (*LISTS, *FORMS, *FRAGMENTS)} | details(world)
    browser.get("/")
    few = count(browser, pages)
    more_of_everything(world)
    many = count(browser, pages)

    assert many == few
    if os.environ.get("INFRA_REWRITE_QUERY_COUNTS"):
        KEPT.write_text(json.dumps(few, indent=2, sort_keys=True) + "\n")
    assert few == json.loads(KEPT.read_text())
