"""Droplets at the console: declaring, previewing, changing, many at once, lists and exports."""

from __future__ import annotations

import csv
import io
import json

import pytest
import yaml
from django.test import Client

from infra.console.views import droplets
from inventory.models import Resource
from inventory.specs import SPECS
from operations.manifests.documents import read_documents, read_yaml
from operations.models import Operation
from tests import factories

pytestmark = pytest.mark.django_db

FORM = {
    "name": "web-1",
    "image": "tiny",
    "vcpus": "2",
    "memory_mib": "256",
    "disk_gib": "3",
    "power": "running",
    "labels": "app=web tier=front",
    "stop_grace_seconds": "30",
    "stop_force": "on",
    "protected": "on",
}


def test_a_form_declares_exactly_what_it_says(browser: Client, call, image) -> None:
    factories.make_ssh_key(call)
    answer = browser.post(
        "/droplets/new/", {**FORM, "ssh_keys": ["ada"], "user_data": "#cloud-config\r\n{}"}
    )

    droplet = Resource.objects.get(name="web-1")
    operation = Operation.objects.get(resource=droplet)
    assert answer["Location"] == f"/operations/{operation.public_id}/"
    assert operation.actor_label == "admin"
    assert operation.request_id
    assert droplet.labels == {"app": "web", "tier": "front"}
    assert droplet.protected
    assert droplet.spec["stop"] == {"grace_seconds": 30, "force": True}
    assert droplet.spec["ssh_keys"] == ["ada"]
    assert droplet.spec["user_data"] == "#cloud-config\n{}"
    assert (droplet.spec["vcpus"], droplet.spec["memory_mib"]) == (2, 256)


def test_the_preview_is_the_declaration_that_the_form_makes(browser: Client, image) -> None:
    preview = browser.post("/droplets/preview/", FORM)
    browser.post("/droplets/new/", FORM)

    shown = yaml.safe_load(preview.context["declared"].yaml)
    droplet = Resource.objects.get(name="web-1")
    page = yaml.safe_load(browser.get(f"/droplets/{droplet.pk}/").context["yaml"])
    assert shown["apiVersion"] == "infra/v1"
    assert shown["kind"] == "Droplet"
    assert shown["metadata"]["labels"] == {"app": "web", "tier": "front"}
    assert shown["spec"].items() <= page["spec"].items()
    assert preview.context["declared"].curl.startswith("curl -X POST http://127.0.0.1/api/v1/")


def test_what_a_page_shows_as_yaml_is_a_manifest_that_apply_takes(
    browser: Client, call, image
) -> None:
    key = factories.make_ssh_key(call)
    droplet = factories.make_droplet(
        call, "服务: 'test' #1", labels={"a": "b"}, ssh_keys=("ada",), user_data="#cloud-config\n"
    )

    for address in (f"/droplets/{droplet.pk}/", f"/images/{image.pk}/", f"/keys/{key.pk}/"):
        (placed,) = read_documents(read_yaml(browser.get(address).context["yaml"]))
        resource = Resource.objects.get(name=placed.document.metadata.name)
        spec = SPECS[resource.kind]
        assert placed.document.metadata.labels == resource.labels
        assert spec.model_validate(placed.document.spec) == spec.model_validate(resource.spec)


def test_a_refused_form_keeps_what_was_typed_and_marks_the_field(browser: Client, image) -> None:
    answer = browser.post("/droplets/new/", {**FORM, "vcpus": "0", "name": "web\u202e-1"})

    page = answer.content.decode()
    assert answer.context["refusal"].fields.keys() == {"vcpus"}
    assert 'aria-invalid="true"' in page
    assert "Nothing was changed" in page
    assert 'value="256"' in page
    assert not Resource.objects.filter(kind="droplet").exists()


@pytest.mark.parametrize(
    ("field", "value", "marked"),
    [
        ("name", "", "name"),
        ("name", "a\x00b", None),
        ("name", "a/b", "name"),
        ("name", "x" * 101, "name"),
        ("image", "missing", "image"),
        ("memory_mib", "9" * 40, "memory_mib"),
        ("memory_mib", "1e3", "memory_mib"),
        ("disk_gib", "-1", "disk_gib"),
        ("power", "sideways", "power"),
        ("labels", "=x", "labels"),
        ("user_data", "x" * 70_000, "user_data"),
        ("ssh_keys", "nobody", "ssh_keys"),
        ("affinity_labels", "-bad-=1", "affinity"),
    ],
)
def test_odd_input_gets_a_clear_answer_and_leaves_nothing(
    browser: Client, image, field: str, value: str, marked: str | None
) -> None:
    answer = browser.post("/droplets/new/", {**FORM, field: value})

    if marked is None:
        assert answer.status_code == 302
        return
    assert answer.status_code == 200
    assert marked in answer.context["refusal"].fields
    assert not Resource.objects.filter(kind="droplet").exists()


def test_a_taken_name_is_said_with_what_to_do(browser: Client, image, droplet_factory) -> None:
    droplet_factory("web-1")

    refusal = browser.post("/droplets/new/", FORM).context["refusal"]

    assert refusal.code == "resource.name_taken"
    assert "already has a droplet named web-1" in refusal.happened
    assert refusal.next_step == "Choose another name, or change the one there is."


def test_actions_open_operations(browser: Client, node_factory, droplet_factory) -> None:
    droplet = droplet_factory("web-1", on=node_factory())
    act, change = f"/droplets/{droplet.pk}/act/", f"/droplets/{droplet.pk}/change/"

    browser.post(act, {"act": "reboot"})
    browser.post(act, {"act": "stop", "how": "force"})
    browser.post(act, {"act": "start"})
    sizes = {"vcpus": "2", "memory_mib": "128", "disk_gib": "4"}
    browser.post(change, {"change": "resize", **sizes})
    browser.post(change, {"change": "rename", "name": "web-2"})
    browser.post(change, {"change": "rebuild", "image": "tiny"})
    browser.post(change, {"change": "protect"})

    kinds = Operation.objects.filter(resource=droplet).order_by("pk").values_list("kind", flat=True)
    assert [kind.removeprefix("droplet.") for kind in kinds] == [
        "create", "reboot", "stop", "start", "resize", "rename", "rebuild",
    ]  # fmt: skip
    droplet.refresh_from_db()
    assert (droplet.name, droplet.protected) == ("web-2", True)
    assert droplet.spec["stop"]["force"] is True


def test_a_disk_that_would_shrink_is_refused_on_the_page(
    browser: Client, node_factory, droplet_factory
) -> None:
    droplet = droplet_factory("web-1", on=node_factory(), disk_gib=4)
    sizes = {"change": "resize", "vcpus": "1", "memory_mib": "64", "disk_gib": "1"}

    answer = browser.post(f"/droplets/{droplet.pk}/change/", sizes)

    assert answer.status_code == 200
    assert "cannot shrink" in answer.context["refusal"].fields["disk_gib"]


def test_deleting_needs_the_name_and_heeds_the_protection(
    browser: Client, node_factory, droplet_factory
) -> None:
    droplet = droplet_factory("web-1", on=node_factory(), protected=True)
    address = f"/droplets/{droplet.pk}/delete/"

    wrong = browser.post(address, {"confirm_name": "web"}, follow=True)
    held = browser.post(address, {"confirm_name": "web-1"}, follow=True)
    droplet.refresh_from_db()
    assert b"Repeat the name exactly" in wrong.content
    assert b"is protected against deletion" in held.content
    assert not droplet.absent

    browser.post(f"/droplets/{droplet.pk}/change/", {"change": "unprotect"})
    browser.post(address, {"confirm_name": "web-1", "reason": "not needed any more"})
    droplet.refresh_from_db()
    assert droplet.absent
    assert Operation.objects.get(kind="droplet.delete").reason == "not needed any more"


def test_many_at_once_each_get_a_result(browser: Client, call, image) -> None:
    plain = factories.make_droplet(call, "plain")
    held = factories.make_droplet(call, "held", protected=True)
    missing = "00000000-0000-7000-8000-000000000000"

    answer = browser.post(
        "/droplets/bulk/", {"act": "delete", "id": [str(plain.pk), str(held.pk), missing, "x"]}
    )

    results = {result.name: result for result in answer.context["results"]}
    assert results["plain"].operation is not None
    assert "protected" in results["held"].refused
    assert "There is no droplet" in results[missing].refused
    assert answer.context["taken"] == 1


def test_filters_and_order_stand_in_the_address(browser: Client, call, image) -> None:
    for name, memory in (("a", 64), ("b", 256), ("c", 128)):
        factories.make_droplet(call, name, memory_mib=memory, labels={"tier": name})

    def names(query: str) -> list[str]:
        rows = browser.get(f"/droplets/{query}").context["rows"]
        return [row.resource.name for row, _ in rows]

    assert names("") == ["a", "b", "c"]
    assert names("?sort=-name") == ["c", "b", "a"]
    assert names("?sort=memory") == ["a", "c", "b"]
    assert names("?q=B") == ["b"]
    assert names("?label=tier=c") == ["c"]
    assert names("?seen=waiting&sort=-memory") == ["b", "c", "a"]
    assert names("?seen=running") == []
    assert names("?sort=nonsense&after=nonsense&seen=nonsense") == ["a", "b", "c"]
    assert names("?q=%00") == ["a", "b", "c"]


def test_pages_follow_each_other_without_a_gap(browser: Client, call, image, monkeypatch) -> None:
    monkeypatch.setattr(droplets, "PAGE_SIZE", 2)
    for name in "edcba":
        factories.make_droplet(call, name)

    address, seen = "/droplets/?sort=name", []
    while address:
        context = browser.get(address).context
        seen.append([row.resource.name for row, _ in context["rows"]])
        address = context["paging"].next_address

    assert seen == [["a", "b"], ["c", "d"], ["e"]]


def test_an_export_is_exactly_what_is_filtered(browser: Client, call, image) -> None:
    for name in ("web-1", "web-2", "db"):
        factories.make_droplet(call, name)
    factories.make_droplet(call, "=web()")

    rows = list(
        csv.DictReader(
            io.StringIO(browser.get("/droplets/?q=web&sort=-name&export=csv").content.decode())
        )
    )
    data = json.loads(browser.get("/droplets/?q=web&sort=-name&export=json").content)

    assert [row["name"] for row in data] == ["web-2", "web-1", "=web()"]
    assert [row["name"] for row in rows] == ["web-2", "web-1", "'=web()"]
    assert rows[0]["state"] == data[0]["state"] == "changing"


def test_the_scope_narrows_every_list_and_says_so_loudly(browser: Client, call, image) -> None:
    east = factories.make_zone(call, "east")
    inner = factories.make_zone(call, "east-1", parent="east")
    factories.make_droplet(call, "inside", zone=inner.pk)
    factories.make_droplet(call, "outside")

    browser.post("/scope/", {"zone": str(east.pk), "next": "/droplets/"})
    page = browser.get("/droplets/")

    assert [row.resource.name for row, _ in page.context["rows"]] == ["inside"]
    assert b"You see only <strong>zone east</strong>" in page.content
    assert browser.get("/").context["amounts"].droplets == 1
    browser.post("/scope/", {})
    assert len(browser.get("/droplets/").context["rows"]) == 2
