"""Images, SSH keys, and resources of all kinds."""

from inventory.models import Resource
from operations.executor import advance
from operations.models import Operation
from tests.api.client import pointers
from tests.factories import DIGEST, PUBLIC_KEY

IMAGE = {"sha256": "cd" * 32, "format": "raw", "size_bytes": 5, "url": "https://images.test/y"}


def test_an_image_is_declared_changed_and_deleted(api, owner, call):
    operation = api.post("images", {"name": "deb", "spec": IMAGE}).json()
    advance(operation["id"], now=call.now)
    image = api.get("images/deb").json()
    assert image["spec"]["sha256"] == "cd" * 32
    changed = api.patch("images/deb", {"spec": {"url": "https://images.test/z"}})
    assert changed.status_code == 202
    assert changed.json()["state"] == "succeeded"
    assert pointers(api.patch("images/deb", {"spec": {"sha256": DIGEST}})) == {
        "/spec/sha256": "immutable"
    }
    deletion = api.delete("images/deb", {"confirm_name": "deb"}).json()
    advance(deletion["id"], now=call.now)
    assert api.get("images/deb").status_code == 404
    assert api.get(f"images/{image['id']}").json()["deleted_at"]


def test_an_image_is_kept_while_a_droplet_starts_from_it(api, droplet_factory):
    droplet_factory("hello")
    answer = api.delete("images/tiny", {"confirm_name": "tiny"})
    assert answer.status_code == 409
    assert answer.json()["code"] == "resource.in_use"
    assert answer.json()["facts"]["users"] == "hello"


def test_an_image_spec_says_exactly_what_is_wrong(api, owner):
    spec = {"sha256": "xyz", "format": "iso", "size_bytes": 0, "url": "file:///etc/passwd"}
    answer = api.post("images", {"name": "bad", "spec": spec})
    assert set(pointers(answer)) == {
        "/spec/sha256",
        "/spec/format",
        "/spec/size_bytes",
        "/spec/url",
    }


def test_a_key_is_declared_and_shown_with_its_fingerprint(api, owner):
    answer = api.post("sshkeys", {"name": "ada", "spec": {"public_key": PUBLIC_KEY}})
    assert answer.json()["state"] == "succeeded"
    assert api.get("sshkeys/ada").json()["fingerprint"].startswith("SHA256:")
    assert [key["name"] for key in api.get("sshkeys").json()["items"]] == ["ada"]
    other = {"spec": {"public_key": PUBLIC_KEY.replace("ada@", "eve@")}}
    assert pointers(api.patch("sshkeys/ada", other)) == {"/spec/public_key": "immutable"}
    assert api.patch("sshkeys/ada", {"labels": {"team": "x"}}).status_code == 200
    assert api.delete("sshkeys/ada", {"confirm_name": "ada"}).status_code == 202


def test_what_is_no_public_key_is_refused(api, owner):
    private = "-----BEGIN OPENSSH PRIVATE KEY-----"
    for text in ("", "ssh-rsa", "ssh-ed25519 notbase64!", private, PUBLIC_KEY + "\nsecond"):
        answer = api.post("sshkeys", {"name": "x", "spec": {"public_key": text}})
        assert answer.status_code == 422, text


def test_resources_of_all_kinds_share_a_list_and_an_address(api, droplet_factory):
    droplet_factory("hello")
    found = {(each["kind"], each["name"]) for each in api.get("resources").json()["items"]}
    assert found == {("droplet", "hello"), ("image", "tiny")}
    assert len(api.get("resources?kind=image").json()["items"]) == 1
    assert api.get("resources?kind=planet").status_code == 422
    body = {"kind": "sshkey", "name": "ada", "spec": {"public_key": PUBLIC_KEY}}
    assert api.post("resources", body).status_code == 202
    assert pointers(api.post("resources", {**body, "kind": "planet"})) == {"/kind": "kind"}
    assert api.patch("resources/hello", {"protected": True}).json()["protected"] is True
    assert api.delete("resources/ada", {"confirm_name": "ada"}).json()["kind"] == "sshkey.delete"


def test_a_spec_of_any_kind_is_checked_by_its_kind(api, owner):
    answer = api.post("resources", {"kind": "droplet", "name": "x", "spec": {"vcpus": 1}})
    assert pointers(answer) == {"/spec/image": "missing"}
    assert not Resource.objects.exists()
    assert not Operation.objects.exists()
