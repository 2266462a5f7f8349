from inventory.models import Resource
from operations.models import Operation
from operations.sweeps import sweep_due
from tests import factories
from tests.api.client import pointers
from tests.factories import carry_out


def declared(**more):
    return {"name": "hello", "spec": {"image": "tiny"}, **more}


def test_declaring_a_droplet_is_accepted_and_its_operation_can_be_followed(
    api, image, node_factory, call
):
    node = node_factory()
    answer = api.post("droplets", declared(zone="home", labels={"tier": "web"}))
    assert answer.status_code == 202
    operation = answer.json()
    assert operation["kind"] == "droplet.create"
    assert operation["state"] == "queued"
    assert [step["kind"] for step in operation["steps"]] == ["reserve", "apply"]
    assert answer["Location"] == f"/api/v1/operations/{operation['id']}"
    carry_out(Operation.objects.get(pk=operation["id"]), node, now=call.now)
    followed = api.get(f"operations/{operation['public_id']}").json()
    assert followed["state"] == "succeeded"
    assert followed["steps"][1]["node"] == "n1"
    droplet = api.get("droplets/hello").json()
    assert (droplet["state"], droplet["node"]["name"]) == ("running", "n1")
    assert droplet["observed"]["power"] == "running"
    assert droplet["labels"] == {"tier": "web"}
    assert droplet["zone"]["name"] == "home"


def test_a_droplet_is_found_by_id_public_id_and_name(api, droplet_factory):
    droplet = droplet_factory("服务测试")
    for key in (droplet.pk, droplet.public_id, "服务测试"):
        assert api.get(f"droplets/{key}").json()["id"] == str(droplet.pk)
    assert api.get("droplets/nobody").status_code == 404
    assert api.get(f"images/{droplet.pk}").status_code == 404


def test_names_are_normalised_and_the_host_name_is_safe(api, image):
    assert api.post("droplets", declared(name="服务测试")).status_code == 202
    droplet = api.get("droplets/服务测试").json()
    assert droplet["hostname"].isascii()
    assert api.post("droplets", declared(name="  cafe\u0301 ")).status_code == 202
    assert api.get("droplets/caf\u00e9").json()["name"] == "caf\u00e9"


def test_names_that_mislead_or_do_not_fit_are_refused(api, image):
    for name in ("a\u202eb", "a\u2066b", "x" * 101, "", "   ", "a/b", "a\u200bb", "a\nb"):
        answer = api.post("droplets", declared(name=name))
        assert answer.status_code == 422, name
        assert "/name" in pointers(answer)
    assert not Resource.objects.filter(kind="droplet").exists()


def test_a_hundred_characters_are_a_name(api, image):
    assert api.post("droplets", declared(name="x" * 100)).status_code == 202


def test_a_name_is_given_once_per_owner(api, droplet_factory):
    droplet_factory("hello")
    answer = api.post("droplets", declared())
    assert answer.status_code == 409
    assert answer.json()["code"] == "resource.name_taken"
    assert api.post("droplets", declared(name="HELLO")).status_code == 202


def test_what_a_spec_names_must_be_there(api, image):
    answer = api.post("droplets", declared(spec={"image": "nope", "ssh_keys": []}))
    assert pointers(answer) == {"/spec/image": "not_found"}
    answer = api.post("droplets", declared(spec={"image": "tiny", "ssh_keys": ["who"]}))
    assert pointers(answer) == {"/spec/ssh_keys/0": "not_found"}


def test_an_unknown_zone_or_owner_is_not_found(api, image):
    assert api.post("droplets", declared(zone="mars")).status_code == 404
    assert api.post("droplets", declared(owner="nobody")).status_code == 404


def test_every_wrong_field_is_named_at_once(api, image):
    spec = {"image": "tiny", "vcpus": 0, "memory_mib": "lots", "colour": "red"}
    answer = api.post("droplets", declared(spec=spec, protected="maybe"))
    assert set(pointers(answer)) == {
        "/spec/vcpus",
        "/spec/memory_mib",
        "/spec/colour",
        "/protected",
    }


def test_a_number_is_no_text_and_text_is_no_number(api, image):
    answer = api.post("droplets", declared(spec={"image": "tiny", "vcpus": "2"}))
    assert pointers(answer) == {"/spec/vcpus": "int_type"}
    assert "/name" in pointers(api.post("droplets", declared(name=7)))


def test_each_action_opens_its_operation(api, droplet_factory, node_factory):
    droplet_factory("hello", on=node_factory())
    bodies = {
        "stop": {"stop": {"grace_seconds": 5, "force": True}},
        "start": {},
        "reboot": {},
        "resize": {"vcpus": 2, "memory_mib": 1024},
        "rebuild": {},
        "rename": {"name": "world"},
    }
    for action, body in bodies.items():
        answer = api.post(f"droplets/hello/{action}", body)
        assert answer.status_code == 202, answer.content
        assert answer.json()["kind"] == f"droplet.{action}"
    droplet = api.get("droplets/world").json()
    assert droplet["spec"]["vcpus"] == 2
    assert droplet["spec"]["stop"] == {"grace_seconds": 5, "force": True}
    assert droplet["state"] == "changing"


def test_actions_refuse_what_makes_no_sense(api, droplet_factory):
    droplet_factory("hello", power="stopped", disk_gib=2)
    assert api.post("droplets/hello/reboot").json()["code"] == "droplet.not_running"
    assert pointers(api.post("droplets/hello/resize", {"disk_gib": 1})) == {
        "/spec/disk_gib": "disk_shrinks"
    }
    assert api.post("droplets/hello/resize", {}).status_code == 422
    assert api.post("droplets/hello/start", {"now": True}).status_code == 422
    assert api.post("droplets/hello/explode").status_code == 404


def test_a_patch_changes_only_what_it_names(api, droplet_factory):
    droplet_factory("hello", vcpus=1, labels={"a": "1"})
    answer = api.patch("droplets/hello", {"spec": {"vcpus": 3}})
    assert answer.status_code == 202
    assert answer.json()["kind"] == "droplet.change"
    droplet = api.get("droplets/hello").json()
    assert droplet["spec"]["vcpus"] == 3
    assert droplet["labels"] == {"a": "1"}


def test_labels_and_protection_move_nothing_on_a_node(api, droplet_factory):
    droplet_factory("hello")
    before = Operation.objects.count()
    answer = api.patch("droplets/hello", {"labels": {"b": "2"}, "protected": True})
    assert answer.status_code == 200
    assert answer.json()["labels"] == {"b": "2"}
    assert answer.json()["protected"] is True
    assert Operation.objects.count() == before


def test_a_patch_that_changes_nothing_writes_nothing(api, droplet_factory):
    droplet = droplet_factory("hello", vcpus=2)
    assert api.patch("droplets/hello", {"spec": {"vcpus": 2}}).status_code == 200
    assert Resource.objects.get(pk=droplet.pk).revision == droplet.revision


def test_a_new_name_is_given_alone(api, droplet_factory):
    droplet_factory("hello")
    answer = api.patch("droplets/hello", {"name": "world", "protected": True})
    assert pointers(answer) == {"/name": "alone"}
    assert api.patch("droplets/hello", {"name": "world"}).json()["kind"] == "droplet.rename"


def test_deletion_asks_for_the_name_and_respects_protection(api, droplet_factory):
    droplet = droplet_factory("hello", protected=True)
    assert pointers(api.delete("droplets/hello")) == {"/confirm_name": "required"}
    assert pointers(api.delete("droplets/hello", {"confirm_name": "hallo"})) == {
        "/confirm_name": "confirm_name"
    }
    answer = api.delete("droplets/hello", {"confirm_name": "hello"})
    assert answer.json()["code"] == "resource.protected"
    api.patch("droplets/hello", {"protected": False})
    answer = api.delete("droplets/hello?confirm_name=hello")
    assert answer.status_code == 202
    assert api.get("droplets/hello").json()["state"] == "deleting"
    assert api.post("droplets/hello/start").json()["code"] == "resource.deleting"
    sweep_due(now=droplet.created_at)
    sweep_due(now=droplet.created_at)


def test_the_list_is_filtered_ordered_and_paged(api, droplet_factory, node_factory, call):
    node_factory("n1", zone="home")
    factories.make_zone(call, "attic", parent="home")
    for index in range(5):
        droplet_factory(f"d{index}", zone="attic", labels={"n": str(index % 2)})
    droplet_factory("other")
    names = [item["name"] for item in api.get("droplets?order=-name&limit=3").json()["items"]]
    assert names == ["other", "d4", "d3"]
    seen, cursor = [], ""
    while True:
        page = api.get(f"droplets?limit=2&cursor={cursor}").json()
        seen += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert seen == ["d0", "d1", "d2", "d3", "d4", "other"]
    assert api.get("droplets?count=true&limit=1").json()["count"] == 6
    assert len(api.get("droplets?zone=home").json()["items"]) == 5
    assert len(api.get("droplets?label=n=1").json()["items"]) == 2
    assert len(api.get("droplets?q=OTH").json()["items"]) == 1
    assert len(api.get("droplets?image=tiny&state=waiting").json()["items"]) == 6
    assert len(api.get("droplets?node=n1").json()["items"]) == 0


def test_a_list_refuses_parameters_it_does_not_know(api, owner):
    for query in ("limit=0", "limit=201", "limit=x", "order=size", "cursor=abc", "colour=red",
                  "count=perhaps", "state=great", "limit=" + "9" * 400):  # fmt: skip
        assert api.get(f"droplets?{query}").status_code == 422, query
    assert api.get("droplets?zone=mars").status_code == 404


def test_a_reason_is_kept_with_the_operation(api, image):
    operation = api.post("droplets?reason=because%20of%20load", declared()).json()
    assert operation["reason"] == "because of load"
