"""ETag, If-Match, If-None-Match."""

from inventory.models import Resource
from operations.models import Operation
from tests.factories import carry_out


def test_a_change_is_refused_when_somebody_was_faster(api, droplet_factory):
    droplet_factory("hello")
    etag = api.get("droplets/hello")["ETag"]
    assert api.post("droplets/hello/stop", {}, If_Match=etag).status_code == 202
    before = Operation.objects.count()
    answer = api.patch("droplets/hello", {"spec": {"vcpus": 2}}, If_Match=etag)
    assert answer.status_code == 412
    assert answer.json()["code"] == "revision_mismatch"
    assert answer.json()["facts"] == {"expected": "1", "actual": "2"}
    assert Operation.objects.count() == before
    fresh = api.get("droplets/hello")["ETag"]
    assert api.patch("droplets/hello", {"spec": {"vcpus": 2}}, If_Match=fresh).status_code == 202


def test_what_a_node_reports_changes_the_etag_but_not_what_if_match_compares(
    api, droplet_factory, node_factory, call
):
    node = node_factory()
    droplet = droplet_factory("hello")
    etag = api.get("droplets/hello")["ETag"]
    carry_out(Operation.objects.get(resource=droplet), node, now=call.now)
    assert api.get("droplets/hello")["ETag"] != etag
    assert api.post("droplets/hello/stop", {}, If_Match=etag).status_code == 202


def test_every_noun_with_a_revision_is_guarded(api, image, zone, node_factory):
    node_factory("n1")
    for path, body in (
        ("images/tiny", {"labels": {"a": "1"}}),
        ("zones/home", {"kind_label": "rack"}),
        ("nodes/n1", {"labels": {"a": "1"}}),
    ):
        etag = api.get(path)["ETag"]
        assert api.patch(path, body, If_Match='"999.ab"').status_code == 412
        answer = api.patch(path, body, If_Match=etag)
        assert answer.status_code == 200
        assert answer["ETag"] != etag
        assert api.patch(path, body, If_Match=etag).status_code == 412


def test_who_has_it_already_gets_no_body(api, droplet_factory):
    droplet_factory("hello")
    for path in ("droplets/hello", "droplets", "zones"):
        first = api.get(path)
        again = api.get(path, If_None_Match=first["ETag"])
        assert again.status_code == 304
        assert again.content == b""
        assert again["ETag"] == first["ETag"]
        assert api.get(path, If_None_Match='"other"').status_code == 200


def test_an_if_match_that_is_no_etag_is_refused(api, droplet_factory):
    droplet = droplet_factory("hello")
    answer = api.patch("droplets/hello", {"protected": True}, If_Match="seven")
    assert answer.status_code == 422
    assert Resource.objects.get(pk=droplet.pk).protected is False
    assert api.patch("droplets/hello", {"protected": True}, If_Match="*").status_code == 200
