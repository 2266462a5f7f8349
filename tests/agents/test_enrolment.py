"""How a machine becomes a node, over real TLS."""

from __future__ import annotations

import base64
from datetime import timedelta

import httpx2
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from django.utils import timezone

from agent.protocol.messages import EnrolResponse, RenewResponse
from inventory.models import AuditEvent, Event, Node, NodeCertificate, NodeLink
from tests.agents.conftest import FakeNode, new_token, signing_request


def code_of(response: httpx2.Response) -> tuple[int, str]:
    assert response.headers["content-type"] == "application/problem+json"
    return response.status_code, response.json()["code"]


def test_a_token_makes_a_machine_a_node(machine: FakeNode, node: Node) -> None:
    response = machine.enrol(new_token(node))

    enrolled = EnrolResponse.model_validate_json(response.content)
    certificate = x509.load_pem_x509_certificate(enrolled.certificate_pem.encode())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert enrolled.node_id == node.pk
    assert enrolled.edge_url == machine.edge.exchange_url
    assert names.get_values_for_type(x509.UniformResourceIdentifier) == [
        f"urn:infra:node:{node.pk}"
    ]
    assert certificate.not_valid_before_utc < timezone.now() - timedelta(minutes=59)
    node.refresh_from_db()
    assert node.lifecycle == "ready"
    assert NodeLink.objects.filter(node=node).exists()
    assert set(AuditEvent.objects.values_list("action", flat=True)) == {
        "node.token",
        "node.enrolled",
    }
    assert Event.objects.filter(topic="node", action="enrolled", object_id=node.pk).exists()
    assert machine.poll(1).status_code == 200


def test_a_lost_answer_does_not_strand_the_machine(machine: FakeNode, node: Node) -> None:
    token = new_token(node)
    assert machine.enrol(token).status_code == 200

    assert machine.enrol(token).status_code == 200
    assert machine.poll(1).status_code == 200


def test_a_used_token_is_refused_for_another_key(machine: FakeNode, node: Node) -> None:
    token = new_token(node)
    machine.enrol(token)
    thief = FakeNode(machine.edge, machine.folder)

    assert code_of(thief.enrol(token)) == (403, "token.used")


def test_a_wrong_token_is_refused(machine: FakeNode, node: Node) -> None:
    assert code_of(machine.enrol("infra_node_" + "x" * 43)) == (403, "token.unknown")


def test_an_expired_token_is_refused(machine: FakeNode, node: Node) -> None:
    token = new_token(node, life=timedelta(minutes=5))
    machine.edge.clock.ahead = timedelta(minutes=6)

    assert code_of(machine.enrol(token)) == (403, "token.expired")


def test_a_new_token_ends_the_one_before(machine: FakeNode, node: Node) -> None:
    first = new_token(node)
    second = new_token(node)

    assert code_of(machine.enrol(first)) == (403, "token.expired")
    assert machine.enrol(second).status_code == 200


def test_a_node_that_has_left_cannot_be_joined(machine: FakeNode, node: Node) -> None:
    token = new_token(node)
    Node.objects.filter(pk=node.pk).update(lifecycle="left")

    assert code_of(machine.enrol(token)) == (403, "node.left")


def test_weak_keys_and_forged_requests_are_refused(machine: FakeNode, node: Node) -> None:
    token = new_token(node)
    weak = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = signing_request(machine.key).replace("A", "B", 1)

    assert code_of(machine.enrol(token, csr_pem=signing_request(weak))) == (400, "csr.key")
    assert code_of(machine.enrol(token, csr_pem="no request")) == (400, "csr.malformed")
    assert machine.enrol(token, csr_pem=forged).status_code == 400
    assert not NodeCertificate.objects.exists()


def test_a_body_that_is_not_understood_says_where(machine: FakeNode, node: Node) -> None:
    response = machine.enrol("short")

    assert code_of(response) == (400, "body.invalid")
    assert "token" in response.json()["detail"]
    assert "short" not in response.json()["detail"].replace("shorter", "")


def test_another_protocol_is_named_as_such(machine: FakeNode, node: Node) -> None:
    assert code_of(machine.enrol("x" * 20, protocol=99)) == (400, "protocol.unsupported")


def test_guessing_is_slowed_down(machine: FakeNode, node: Node) -> None:
    codes = [machine.enrol("infra_node_" + "x" * 43).status_code for _ in range(21)]

    assert codes == [403] * 20 + [429]


def test_a_renewed_certificate_ends_the_one_before_at_its_first_use(enrolled: FakeNode) -> None:
    enrolled.poll(1)
    older = FakeNode(enrolled.edge, enrolled.folder, enrolled.key, enrolled.certificate_pem)
    with enrolled.client() as client:
        response = client.post("/v1/renew", json={"csr_pem": enrolled.csr()})
    enrolled.certificate_pem = RenewResponse.model_validate_json(response.content).certificate_pem

    assert older.poll(2).status_code == 200
    assert enrolled.poll(3).status_code == 200
    assert code_of(older.poll(4)) == (403, "certificate.superseded")


def recover(machine: FakeNode, nonce: str, *, key: ec.EllipticCurvePrivateKey | None = None):
    signature = (key or machine.key).sign(nonce.encode(), ec.ECDSA(hashes.SHA256()))
    body = {
        "certificate_pem": machine.certificate_pem,
        "nonce": nonce,
        "signature_base64": base64.b64encode(signature).decode(),
        "csr_pem": machine.csr(),
    }
    with httpx2.Client(verify=machine.context(certificate=False)) as client:
        return client.post(machine.edge.enrol_url + "/v1/recover", json=body)


def challenge(machine: FakeNode) -> str:
    with httpx2.Client(verify=machine.context(certificate=False)) as client:
        return client.post(machine.edge.enrol_url + "/v1/recover/challenge").json()["nonce"]


def test_an_expired_certificate_leads_back_once_per_challenge(enrolled: FakeNode) -> None:
    enrolled.edge.clock.ahead = timedelta(days=40)
    assert code_of(enrolled.poll(1)) == (403, "certificate.expired")
    nonce = challenge(enrolled)

    response = recover(enrolled, nonce)

    assert response.status_code == 200
    assert code_of(recover(enrolled, nonce)) == (403, "challenge.used")
    enrolled.certificate_pem = response.json()["certificate_pem"]
    enrolled.edge.clock.ahead = timedelta(days=40, minutes=1)
    fingerprint = x509.load_pem_x509_certificate(enrolled.certificate_pem.encode()).fingerprint(
        hashes.SHA256()
    )
    row = NodeCertificate.objects.get(fingerprint=fingerprint.hex())
    assert row.not_after > timezone.now() + timedelta(days=69)


def test_the_way_back_asks_for_the_key_and_a_fresh_challenge(enrolled: FakeNode) -> None:
    valid = challenge(enrolled)
    assert code_of(recover(enrolled, valid)) == (403, "certificate.not_expired")
    enrolled.edge.clock.ahead = timedelta(days=40)
    other = ec.generate_private_key(ec.SECP256R1())

    assert code_of(recover(enrolled, challenge(enrolled), key=other)) == (
        403,
        "challenge.signature",
    )
    assert code_of(recover(enrolled, valid)) == (403, "challenge.expired")
    assert code_of(recover(enrolled, "made up")) == (403, "challenge.unknown")


def test_a_revoked_certificate_does_not_lead_back(enrolled: FakeNode) -> None:
    NodeCertificate.objects.update(revoked_at=timezone.now(), revoked_because="stolen")
    enrolled.edge.clock.ahead = timedelta(days=40)

    assert code_of(recover(enrolled, challenge(enrolled))) == (403, "certificate.revoked")
