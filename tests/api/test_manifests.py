"""Apply, plan, diff."""

from datetime import timedelta

import pytest
import yaml

from infra.api.models import IdempotencyRecord
from inventory.models import Resource, Zone
from operations.executor import advance
from operations.models import Operation
from operations.sweeps import sweep_due
from tests import factories
from tests.api.client import Api, pointers, token_of
from tests.factories import carry_out


def document(kind, name, spec=None, **metadata):
    return {
        "apiVersion": "infra/v1",
        "kind": kind,
        "metadata": {"name": name, **metadata},
        "spec": spec or {},
    }


IMAGE = document(
    "Image",
    "deb",
    {"sha256": "cd" * 32, "format": "raw", "size_bytes": 5, "url": "https://images.test/y"},
)
KEY = document("SshKey", "ada", {"public_key": factories.PUBLIC_KEY})
DROPLET = document("Droplet", "web", {"image": "deb", "ssh_keys": ["ada"]}, zone="rack")
RACK = document("Zone", "rack", {"parent": "site", "kind_label": "rack"})
SITE = document("Zone", "site")
EVERYTHING = [DROPLET, RACK, KEY, IMAGE, SITE]
"""In an order in which nothing could be made."""


def test_documents_that_refer_to_each_other_are_applied_in_one_go(api, owner, node_factory, call):
    node = node_factory("n1", zone="home")
    answer = api.post("apply", EVERYTHING)
    assert answer.status_code == 202, answer.content
    parent = answer.json()
    assert parent["kind"] == "manifest.apply"
    assert {child["kind"] for child in parent["children"]} == {
        "image.create",
        "sshkey.create",
        "droplet.create",
    }
    assert Zone.objects.get(name="rack").parent.name == "site"
    assert api.get("droplets/web").json()["zone"]["name"] == "rack"
    assert parent["state"] == "running"  # the key is done at once, the others are not
    assert node.node_id


def test_the_whole_ends_when_its_parts_have_ended(api, owner, node_factory, call):
    node = node_factory("n1", zone="home")
    answer = api.post("apply", [IMAGE, document("Droplet", "web", {"image": "deb"})])
    parent = Operation.objects.get(pk=answer.json()["id"])
    for child in parent.children.order_by("pk"):
        carry_out(child, node, now=call.now)
    advance(parent.pk, now=call.now)
    shown = api.get(f"operations/{parent.pk}").json()
    assert shown["state"] == "succeeded"
    assert shown["finished_at"]
    assert {child["state"] for child in shown["children"]} == {"succeeded"}
    assert api.get(f"operations?parent={parent.pk}").json()["items"]


def test_a_part_that_was_cancelled_shows_in_the_whole(api, owner, call):
    answer = api.post("apply", [IMAGE, KEY])
    child = Operation.objects.get(kind="image.create")
    api.post(f"operations/{child.pk}/cancel")
    parent = Operation.objects.get(pk=answer.json()["id"])
    later = parent.due_at
    assert sweep_due(now=later).acted >= 1
    parent.refresh_from_db()
    assert parent.state == "cancelled"
    assert parent.due_at is None


def test_what_does_not_differ_does_nothing(api, owner):
    api.post("apply", EVERYTHING)
    before = Operation.objects.count(), list(Resource.objects.values_list("revision", flat=True))
    answer = api.post("apply", EVERYTHING)
    assert answer.status_code == 200
    assert {item["action"] for item in answer.json()["items"]} == {"unchanged"}
    assert not answer.has_header("Location")
    after = Operation.objects.count(), list(Resource.objects.values_list("revision", flat=True))
    assert after == before


def test_only_what_differs_is_changed(api, owner):
    api.post("apply", EVERYTHING)
    bigger = {**DROPLET, "spec": {**DROPLET["spec"], "vcpus": 4}}
    renamed = {**RACK, "spec": {**RACK["spec"], "kind_label": "shelf"}}
    answer = api.post("apply", [bigger, renamed, KEY, IMAGE, SITE])
    assert [child["kind"] for child in answer.json()["children"]] == ["droplet.change"]
    assert api.get("droplets/web").json()["spec"]["vcpus"] == 4
    assert api.get("zones/rack").json()["kind_label"] == "shelf"


def test_labels_alone_open_no_part(api, owner):
    api.post("apply", EVERYTHING)
    labelled = document("SshKey", "ada", KEY["spec"], labels={"a": "b"}, protected=True)
    answer = api.post("apply", [labelled])
    assert answer.status_code == 202
    assert answer.json()["children"] == []
    assert answer.json()["state"] == "succeeded"
    key = api.get("sshkeys/ada").json()
    assert (key["labels"], key["protected"]) == ({"a": "b"}, True)


def test_a_plan_says_what_would_happen_and_does_nothing(api, owner):
    plan = api.post("plan", EVERYTHING).json()["items"]
    assert [item["action"] for item in plan] == ["create"] * 5
    assert not Resource.objects.exists()
    assert not Operation.objects.exists()
    api.post("apply", EVERYTHING)
    other = {**DROPLET, "spec": {"image": "deb", "power": "stopped", "vcpus": 2}}
    (item,) = api.post("plan", [other]).json()["items"]
    assert item["action"] == "change"
    assert {change["pointer"] for change in item["changes"]} == {
        "/spec/power",
        "/spec/ssh_keys",
        "/spec/vcpus",
    }
    assert item["warnings"] == ["The guest restarts to take its new sizes.", "The guest stops."]


def test_a_diff_only_reads(api, owner, viewer):
    api.post("apply", EVERYTHING)
    other = {**DROPLET, "spec": {"image": "deb", "ssh_keys": ["ada"], "disk_gib": 7}}
    (item,) = Api(token_of(viewer)).post("diff", [other]).json()["items"]
    assert item["changes"] == [{"pointer": "/spec/disk_gib", "before": 1, "after": 7}]


def test_errors_point_to_document_and_field(api, owner):
    bad = document("Droplet", "x", {"image": "nope", "vcpus": 0})
    worse = {"apiVersion": "infra/v2", "kind": "Droplet", "metadata": {}}
    strange = document("Planet", "mars")
    assert pointers(api.post("apply", [SITE, bad])) == {"/1/spec/vcpus": "greater_than_equal"}
    assert set(pointers(api.post("apply", [SITE, worse]))) == {
        "/1/apiVersion",
        "/1/metadata/name",
    }
    assert pointers(api.post("apply", [SITE, strange])) == {"/1/kind": "kind"}
    assert pointers(api.post("apply", {"manifests": [SITE, strange]})) == {
        "/manifests/1/kind": "kind"
    }
    missing = document("Droplet", "x", {"image": "nope"})
    assert pointers(api.post("apply", [SITE, missing])) == {"/1/spec/image": "not_found"}
    nowhere = document("SshKey", "k", KEY["spec"], zone="mars", owner="nobody")
    assert pointers(api.post("apply", [SITE, nowhere])) == {"/1/metadata/owner": "not_found"}
    assert pointers(api.post("apply", [SITE, SITE])) == {"/1/metadata/name": "twice"}
    assert pointers(api.post("apply", [document("SshKey", "a\u202eb", KEY["spec"])])) == {
        "/0/metadata/name": "name"
    }
    assert not Zone.objects.filter(name="site").exists()
    assert not Operation.objects.exists()


def test_one_wrong_document_leaves_nothing_of_the_others(api, owner):
    answer = api.post("apply", [*EVERYTHING, document("Droplet", "x", {"image": "nope"})])
    assert answer.status_code == 422
    assert not Resource.objects.exists()
    assert not Zone.objects.exists()


def test_what_cannot_change_says_so(api, owner, call):
    api.post("apply", EVERYTHING)
    moved = {**DROPLET, "metadata": {"name": "web", "zone": "site"}}
    assert pointers(api.post("apply", [moved])) == {"/0/metadata/zone": "immutable"}
    other = {**IMAGE, "spec": {**IMAGE["spec"], "sha256": "ef" * 32}}
    assert pointers(api.post("apply", [other])) == {"/0/spec/sha256": "immutable"}
    api.delete("droplets/web", {"confirm_name": "web"})
    answer = api.post("apply", [DROPLET])
    assert answer.json()["code"] == "resource.deleting"
    assert answer.json()["facts"]["document"] == "0"


def test_a_loop_of_zones_is_refused(api, owner):
    a, b = document("Zone", "a", {"parent": "b"}), document("Zone", "b", {"parent": "a"})
    assert api.post("apply", [a, b]).status_code == 422
    assert not Zone.objects.exists()


def test_yaml_is_taken_as_a_stream(api, owner):
    text = yaml.safe_dump_all(EVERYTHING) + "\n---\n"
    answer = api.ask("POST", "apply", raw=text, content_type="application/yaml")
    assert answer.status_code == 202, answer.content
    assert len(answer.json()["children"]) == 3


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a: &a [x]\nb: *a\n", "alias"),
        ("a: !!python/object:os.system {}\n", "yaml"),
        ("a: {", "yaml"),
        ("a: 1\na: 2\n", "yaml"),
        ("[" * 200 + "]" * 200, "too_deep"),
        ("\n---\n".join(["a: 1"] * 600), "too_many"),
        ("[" + "1," * 200_000 + "1]", "too_many"),
        ("---\n---\n", "empty"),
        ("1: a\n", "yaml"),
    ],
)
def test_hostile_yaml_is_refused(api, owner, text, code):
    answer = api.ask("POST", "apply", raw=text, content_type="application/yaml")
    assert answer.status_code == 422, answer.content[:200]
    assert code in pointers(answer).values()


def test_yaml_text_that_cannot_be_stored_is_refused(api, owner):
    for raw in (b"\xff\xfe", b'kind: "a\\0b"', b'kind: "\\ud800"'):
        answer = api.ask("POST", "apply", raw=raw, content_type="application/yaml")
        assert answer.status_code in {400, 422}


def test_dates_and_yes_are_not_what_they_seem(api, owner):
    text = "apiVersion: infra/v1\nkind: Zone\nmetadata:\n  name: 2026-12-01\n  labels: {day: 2026-12-01}\n"
    answer = api.ask("POST", "apply", raw=text, content_type="application/yaml")
    assert answer.status_code == 202, answer.content
    assert Zone.objects.get(name="2026-12-01").labels == {"day": "2026-12-01"}


def test_apply_is_idempotent_by_key_and_dry_by_wish(api, owner):
    answer = api.post("apply?dry_run=true", EVERYTHING)
    assert answer.status_code == 200
    assert not Resource.objects.exists()
    first = api.post("apply", EVERYTHING, Idempotency_Key="k")
    again = api.post("apply", EVERYTHING, Idempotency_Key="k")
    assert again.content == first.content
    assert again.status_code == 202
    assert IdempotencyRecord.objects.count() == 1


def test_a_whole_over_several_owners_is_seen_by_its_author(api, owner, call):
    team = factories.make_owner(call, "team")
    user = factories.make_user("ada", role="operator")
    factories.Membership.objects.create(user=user, owner=team, role="operator")
    author = Api(token_of(user))
    other = document("SshKey", "eve", KEY["spec"], owner="team")
    answer = author.post("apply", [{**KEY, "metadata": {"name": "ada"}}, other])
    assert answer.status_code == 202
    assert answer.json()["owner"] is None
    assert author.get(f"operations/{answer.json()['id']}").status_code == 200
    bystander = Api(token_of(factories.make_user("bob", role="operator")))
    assert bystander.get(f"operations/{answer.json()['id']}").status_code == 404


def plan_example(api, name):
    with open(f"docs/examples/{name}") as file:  # noqa: PTH123  as a person would
        answer = api.ask("POST", "plan", raw=file.read(), content_type="application/yaml")
    assert answer.status_code == 200, answer.content
    return [(item["kind"], item["action"]) for item in answer.json()["items"]]


def test_the_first_example_of_the_documents_is_planned(api, owner, call):
    factories.make_zone(call, "home")
    planned = plan_example(api, "hello.yaml")
    assert planned == [("Zone", "unchanged"), ("Image", "create"), ("Droplet", "create")]


def test_the_example_of_droplets_apart_is_planned(api, owner, call):
    factories.make_image(call, "hello")
    planned = plan_example(api, "pair.yaml")
    assert planned == [("Zone", "create"), ("Droplet", "create"), ("Droplet", "create")]


def test_a_whole_says_which_part_waits_and_why(api, owner, call, image):
    body = document("Droplet", "big", {"image": "tiny", "memory_mib": 9000})
    whole = api.post("apply", [body]).json()
    sweep_due(now=call.now + timedelta(seconds=1))
    sweep_due(now=call.now + timedelta(seconds=10))
    waiting = api.get(f"operations/{whole['id']}").json()["waiting_text"]
    assert waiting.startswith("droplet big: ")
    assert "no node yet" in waiting
