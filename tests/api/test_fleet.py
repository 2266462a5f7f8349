"""Zones, nodes and found guests."""

from inventory.models import AuditEvent, FoundObject, Node, NodeCertificate
from tests import factories
from tests.api.client import Api, pointers, token_of


def test_zones_nest_and_are_changed_and_deleted(api, zone):
    made = api.post("zones", {"name": "rack-1", "parent": "home", "kind_label": "rack"})
    assert made.status_code == 201
    assert made["Location"] == f"/api/v1/zones/{made.json()['id']}"
    assert made.json()["parent"]["name"] == "home"
    assert pointers(api.patch("zones/home", {"parent": "rack-1"})) == {"/parent": "loop"}
    assert api.patch("zones/rack-1", {"parent": None}).json()["parent"] is None
    assert api.patch("zones/rack-1", {"name": "rack-2"}).json()["name"] == "rack-2"
    assert api.post("zones", {"name": "home"}).json()["code"] == "zone.name_taken"
    assert pointers(api.delete("zones/rack-2")) == {"/confirm_name": "required"}
    assert api.delete("zones/rack-2", {"confirm_name": "rack-2"}).status_code == 204
    assert api.get("zones/rack-2").status_code == 404


def test_a_zone_that_holds_something_is_kept(api, node_factory):
    node_factory("n1")
    answer = api.delete("zones/home", {"confirm_name": "home"})
    assert answer.json()["code"] == "zone.not_empty"
    assert "n1" in answer.json()["detail"]


def test_a_node_is_declared_changed_and_shown(api, zone):
    made = api.post("nodes", {"name": "n1", "zone": "home", "over_commit": {"vcpus": 2}})
    assert made.status_code == 201
    assert made.json()["lifecycle"] == "joining"
    assert made.json()["over_commit"]["vcpus"] == 2
    changed = api.patch("nodes/n1", {"labels": {"disk": "ssd"}, "over_commit": {"memory": "1.5"}})
    assert changed.json()["labels"] == {"disk": "ssd"}
    assert changed.json()["over_commit"]["memory"] == 1.5
    for bad in ({"memory": 0}, {"memory": 1e9}, {"memory": "NaN"}, {"gpus": 1}):
        assert api.patch("nodes/n1", {"over_commit": bad}).status_code == 422, bad
    assert api.post("nodes", {"name": "n1", "zone": "home"}).json()["code"] == "node.name_taken"
    assert api.post("nodes", {"name": "n2", "zone": "mars"}).status_code == 404


def test_a_node_lives_by_its_table(api, node_factory):
    node_factory("n1")
    assert api.post("nodes/n1/leave").json()["code"] == "node.lifecycle"
    assert api.post("nodes/n1/drain").json()["lifecycle"] == "drained"
    assert api.post("nodes/n1/resume").json()["lifecycle"] == "ready"
    api.post("nodes/n1/drain")
    left = api.post("nodes/n1/leave").json()
    assert left["lifecycle"] == "left"
    assert api.get("nodes/n1").status_code == 404
    assert api.get(f"nodes/{left['id']}").json()["lifecycle"] == "left"
    assert api.get("nodes").json()["items"] == []
    assert len(api.get("nodes?lifecycle=left").json()["items"]) == 1


def test_a_token_lets_a_machine_in_and_is_shown_once(api, zone, settings, tmp_path):
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"data_dir": tmp_path})
    api.post("nodes", {"name": "n1", "zone": "home"})
    answer = api.post("nodes/n1/token")
    assert answer.status_code == 201
    token = answer.json()
    assert token["token"].startswith("infra_node_")
    assert token["token"] in token["command"]
    assert "BEGIN CERTIFICATE" in token["authority"]
    assert answer["Cache-Control"] == "no-store"
    assert not answer.has_header("ETag")


def test_certificates_are_revoked_with_a_reason(api, node_factory, call):
    node = Node.objects.get(pk=node_factory("n1").node_id)
    NodeCertificate.objects.create(
        node=node,
        fingerprint="f" * 64,
        serial="1",
        not_before=call.now,
        not_after=call.now,
        issued_at=call.now,
    )
    answer = api.delete("nodes/n1/certificates", {"because": "stolen"})
    assert answer.json() == {"revoked": 1}
    shown = api.get("nodes/n1").json()["certificates"]
    assert shown[0]["revoked_because"] == "stolen"
    assert AuditEvent.objects.filter(action="node.revoke").exists()


def test_found_guests_are_listed_and_cannot_be_touched(api, node_factory, call):
    node = node_factory("n1")
    FoundObject.objects.create(
        node_id=node.node_id,
        native_id="abc",
        name="stranger",
        power="running",
        first_seen=call.now,
        last_seen=call.now,
    )
    (found,) = api.get("found?node=n1").json()["items"]
    assert found["name"] == "stranger"
    assert api.get("found/stranger").json()["id"] == found["id"]
    assert api.delete(f"found/{found['id']}").status_code == 405
    member = Api(token_of(factories.make_user("ada", role="viewer")))
    assert member.get("found").json()["items"] == []
    assert member.get(f"found/{found['id']}").status_code == 404


def test_the_join_command_warns_while_only_this_machine_can_dial(api, node_factory, settings):
    node_factory("n1")
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"edge_address": "127.0.0.1"})
    assert "Only this machine" in api.post("nodes/n1/token").json()["command"]
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"edge_address": "10.0.0.1"})
    assert "Only this machine" not in api.post("nodes/n1/token").json()["command"]
