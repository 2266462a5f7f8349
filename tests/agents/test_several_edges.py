"""Any number of edges may run: what one knows, all act on."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from django.db import connection, transaction
from django.utils import timezone

from agent.protocol.messages import PollResponse
from infra.authority import Authority
from inventory.models import Node, NodeLink
from operations.enrolment import revoke_node_certificates
from operations.outbox import wake_node
from tests.agents.conftest import FakeNode, running_edge
from tests.agents.test_enrolment import code_of
from tests.agents.test_exchange import live_poll
from tests.waiting import wait_until


def test_a_poll_at_one_edge_supersedes_the_one_at_another(
    enrolled: FakeNode, node: Node, authority: Authority
) -> None:
    enrolled.settle()
    with running_edge(authority) as second, ThreadPoolExecutor() as pool:
        waiting = live_poll(pool, enrolled, node, 2)
        elsewhere = FakeNode(second, enrolled.folder, enrolled.key, enrolled.certificate_pem)
        assert elsewhere.poll(3).status_code == 200
        wake_node(node.pk)

        assert PollResponse.model_validate_json(waiting.result(timeout=18).content).superseded


def test_a_lost_listening_connection_wakes_all_who_wait(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()
    with ThreadPoolExecutor() as pool:
        waiting = live_poll(pool, enrolled, node, 2)
        with transaction.atomic(), connection.cursor() as cursor:
            # The same transaction: this revocation's NOTIFY reaches nobody.
            cursor.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND application_name = 'infra listening'"
            )
            revoke_node_certificates(node, "stolen", now=timezone.now())

        assert code_of(waiting.result(timeout=18)) == (403, "certificate.revoked")


def test_a_stopping_edge_answers_those_who_wait(
    authority: Authority, node: Node, enrolled: FakeNode
) -> None:
    enrolled.settle()
    with ThreadPoolExecutor() as pool:
        with running_edge(authority) as second:
            there = FakeNode(second, enrolled.folder, enrolled.key, enrolled.certificate_pem)
            waiting = live_poll(pool, there, node, 2)
            started = time.monotonic()
        response = PollResponse.model_validate_json(waiting.result(timeout=18).content)

    assert response.orders == ()
    assert time.monotonic() - started < 18  # it would have waited for 20


def test_a_waiting_poll_keeps_the_node_heard(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()
    with ThreadPoolExecutor() as pool:
        waiting = live_poll(pool, enrolled, node, 2)
        before = NodeLink.objects.get(node=node).last_seen
        wake_node(node.pk)
        wait_until(lambda: NodeLink.objects.get(node=node).last_seen > before)
        with transaction.atomic():
            revoke_node_certificates(node, "the test is over", now=timezone.now())
        waiting.result(timeout=18)
