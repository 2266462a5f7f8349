"""Polls, reports and images over mutual TLS."""

from __future__ import annotations

import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from agent.protocol.messages import PollResponse
from infra.agents.exchange import authenticated
from infra.authority import ensure_authority
from inventory.models import Node, NodeCertificate
from operations.enrolment import revoke_node_certificates
from tests.agents.conftest import FakeNode
from tests.agents.test_enrolment import code_of
from tests.waiting import wait_until


def test_nobody_speaks_without_a_certificate(machine: FakeNode, node: Node) -> None:
    with (
        httpx2.Client(verify=machine.context(certificate=False)) as client,
        pytest.raises((httpx2.TransportError, ssl.SSLError)),
    ):
        client.post(machine.edge.exchange_url + "/v1/poll", content=machine.poll_body(1))


def test_a_certificate_of_another_authority_is_refused(
    enrolled: FakeNode, node: Node, tmp_path: Path
) -> None:
    other = ensure_authority(tmp_path / "other", now=timezone.now())
    enrolled.certificate_pem = other.sign_node(node.pk, enrolled.csr(), now=timezone.now()).pem

    with pytest.raises((httpx2.TransportError, ssl.SSLError)):
        enrolled.poll(1)


def test_a_certificate_without_a_record_is_unknown(enrolled: FakeNode, node: Node) -> None:
    signed = enrolled.edge.authority.sign_node(node.pk, enrolled.csr(), now=timezone.now())
    enrolled.certificate_pem = signed.pem

    assert code_of(enrolled.poll(1)) == (403, "certificate.unknown")


def test_no_header_can_say_who_the_peer_is(enrolled: FakeNode, node: Node) -> None:
    good = enrolled.certificate_pem
    signed = enrolled.edge.authority.sign_node(node.pk, enrolled.csr(), now=timezone.now())
    enrolled.certificate_pem = signed.pem
    quoted = good.replace("\n", "%0A")
    headers = {
        "X-Forwarded-For": "127.0.0.1",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Client-Cert": f'Cert="{quoted}"',
        "X-SSL-Client-Cert": quoted,
        "X-Client-Verify": "SUCCESS",
        "Forwarded": "for=127.0.0.1;proto=https",
    }

    assert code_of(enrolled.poll(1, headers=headers)) == (403, "certificate.unknown")


def test_a_quiet_poll_ends_when_its_wait_ends(enrolled: FakeNode) -> None:
    enrolled.settle()
    started = time.monotonic()

    response = PollResponse.model_validate_json(enrolled.poll(2, wait=0.5).content)

    assert response.orders == ()
    assert not response.superseded
    assert time.monotonic() - started > 0.4


def test_a_report_is_taken(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()

    response = enrolled.report(2)

    assert response.status_code == 200, response.text
    assert response.json()["stale"] is False


def test_text_that_cannot_be_stored_is_a_clear_refusal(enrolled: FakeNode) -> None:
    enrolled.settle()
    body = {
        "incarnation": enrolled.incarnation.model_dump(mode="json"),
        "sequence": 1,
        "delivery": 0,
        "journal": [
            {"number": 1, "at": 0, "severity": "info", "event": "odd", "message": "nul \x00 here"}
        ],
    }
    with enrolled.client() as client:
        response = client.post("/v1/report", json=body)

    assert code_of(response) == (400, "body.unstorable")


def test_a_body_beyond_its_limit_is_refused(enrolled: FakeNode) -> None:
    with enrolled.client() as client:
        response = client.post("/v1/poll", content=b" " * 100_000)

    assert code_of(response) == (413, "body.too_large")


def test_unknown_paths_and_methods_get_problems(enrolled: FakeNode) -> None:
    with enrolled.client() as client:
        assert code_of(client.post("/v1/nothing")) == (404, "path.unknown")
        assert code_of(client.get("/v1/poll")) == (405, "method.wrong")


def live_poll(pool: ThreadPoolExecutor, machine: FakeNode, node: Node, number: int):
    future = pool.submit(machine.poll, number, wait=20)
    wait_until(lambda: machine.edge.wakes.live(node.pk), what="the poll to wait")
    return future


def test_a_revocation_closes_the_live_poll(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()
    with ThreadPoolExecutor() as pool:
        waiting = live_poll(pool, enrolled, node, 2)
        started = time.monotonic()
        with transaction.atomic():
            assert revoke_node_certificates(node, "stolen", now=timezone.now()) == 1

        response = waiting.result(timeout=18)

    assert code_of(response) == (403, "certificate.revoked")
    assert "stolen" in response.json()["detail"]
    assert time.monotonic() - started < 18  # it would have waited for 20
    assert code_of(enrolled.poll(3)) == (403, "certificate.revoked")


def test_a_later_poll_supersedes_the_one_that_waits(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()
    with ThreadPoolExecutor() as pool:
        waiting = live_poll(pool, enrolled, node, 2)
        later = enrolled.poll(3)
        first = PollResponse.model_validate_json(waiting.result(timeout=18).content)

    assert first.superseded
    assert not PollResponse.model_validate_json(later.content).superseded
    assert PollResponse.model_validate_json(enrolled.poll(2).content).superseded


def test_a_client_that_goes_away_frees_its_poll(enrolled: FakeNode, node: Node) -> None:
    enrolled.settle()
    with enrolled.client() as client, pytest.raises(httpx2.ReadTimeout):
        client.post("/v1/poll", content=enrolled.poll_body(2, wait=20), timeout=0.5)

    wait_until(lambda: not enrolled.edge.wakes.live(node.pk), seconds=3, what="the poll to end")


def test_a_node_that_left_is_refused(enrolled: FakeNode, node: Node) -> None:
    Node.objects.filter(pk=node.pk).update(lifecycle="left")

    assert code_of(enrolled.poll(1)) == (403, "node.left")


def test_one_look_of_a_poll_is_a_few_queries(
    enrolled: FakeNode, node: Node, django_assert_max_num_queries
) -> None:
    enrolled.settle()
    fingerprint = NodeCertificate.objects.get().fingerprint
    with django_assert_max_num_queries(1):
        authenticated(fingerprint, now=timezone.now())


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    digest = "a" * 64
    monkeypatch.setattr(settings.ENVIRONMENT, "image_store", tmp_path)
    (tmp_path / digest).write_bytes(bytes(range(256)) * 8192)
    return digest


def test_an_image_is_sent_whole_and_in_parts(enrolled: FakeNode, image: str) -> None:
    content = bytes(range(256)) * 8192
    with enrolled.client() as client:
        whole = client.get(f"/v1/images/{image}")
        part = client.get(f"/v1/images/{image}", headers={"range": "bytes=100-199"})
        rest = client.get(f"/v1/images/{image}", headers={"range": f"bytes={len(content) - 5}-"})
        tail = client.get(f"/v1/images/{image}", headers={"range": "bytes=-7"})
        beyond = client.get(f"/v1/images/{image}", headers={"range": f"bytes={len(content)}-"})
        head = client.head(f"/v1/images/{image}")

    assert whole.content == content
    assert (part.status_code, part.content) == (206, content[100:200])
    assert part.headers["content-range"] == f"bytes 100-199/{len(content)}"
    assert rest.content == content[-5:]
    assert tail.content == content[-7:]
    assert code_of(beyond) == (416, "range.unsatisfiable")
    assert head.headers["content-length"] == str(len(content))


def test_an_image_that_is_not_there_is_unknown(enrolled: FakeNode, image: str) -> None:
    with enrolled.client() as client:
        for path in ("b" * 64, "../../etc/passwd", "%2e%2e%2fca%2fca.key", ""):
            assert code_of(client.get(f"/v1/images/{path}"))[0] == 404


def test_images_are_for_nodes_only(enrolled: FakeNode, node: Node, image: str) -> None:
    with transaction.atomic():
        revoke_node_certificates(node, "stolen", now=timezone.now())
    with enrolled.client() as client:
        assert code_of(client.get(f"/v1/images/{image}")) == (403, "certificate.revoked")
