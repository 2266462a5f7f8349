"""Who may do what: role x resource x verb. A refused attempt changes nothing."""

from __future__ import annotations

import pytest
from django.db import transaction

from inventory.models import Node, Owner, Resource, Zone
from operations.models import Operation
from tests import factories
from tests.api.client import Api, token_of

KEY = {"name": "new", "spec": {"public_key": factories.PUBLIC_KEY}}
IMAGE = {
    "name": "new",
    "spec": {"sha256": "cd" * 32, "format": "raw", "size_bytes": 1, "url": "https://a.test/b"},
}
ZONE_MANIFEST = {
    "apiVersion": "infra/v1",
    "kind": "Zone",
    "metadata": {"name": "new"},
}
KEY_MANIFEST = {
    "apiVersion": "infra/v1",
    "kind": "SshKey",
    "metadata": {"name": "new"},
    "spec": KEY["spec"],
}

NOBODY, STRANGER, VIEWER, OPERATOR, READER, ADMIN = (
    "nobody",
    "stranger",
    "viewer",
    "operator",
    "reader",
    "admin",
)
ROLES = (NOBODY, STRANGER, VIEWER, OPERATOR, READER, ADMIN)
"""Nobody; a person without an owner; two members; an administrator's token that only reads."""

SEEN = (401, 404, 200, 200, 200, 200)
ALL_SEE = (401, 200, 200, 200, 200, 200)
CHANGED = (401, 404, 403, 202, 403, 202)
MARKED = (401, 404, 403, 200, 403, 200)
MADE = (401, 404, 403, 202, 403, 202)
FLEET_MADE = (401, 403, 403, 403, 403, 201)
FLEET_CHANGED = (401, 403, 403, 403, 403, 200)

MATRIX: dict[str, tuple[str, str, object, tuple[int, ...]]] = {
    "list droplets": ("GET", "droplets", None, ALL_SEE),
    "see a droplet": ("GET", "droplets/hello", None, SEEN),
    "see it as a resource": ("GET", "resources/hello", None, SEEN),
    "declare a droplet": ("POST", "droplets", {"name": "n", "spec": {"image": "tiny"}}, MADE),
    "stop a droplet": ("POST", "droplets/hello/stop", {}, CHANGED),
    "start a droplet": ("POST", "droplets/hello/start", {}, CHANGED),
    "reboot a droplet": ("POST", "droplets/hello/reboot", {}, CHANGED),
    "resize a droplet": ("POST", "droplets/hello/resize", {"vcpus": 2}, CHANGED),
    "rename a droplet": ("POST", "droplets/hello/rename", {"name": "m"}, CHANGED),
    "rebuild a droplet": ("POST", "droplets/hello/rebuild", {}, CHANGED),
    "change a droplet": ("PATCH", "droplets/hello", {"spec": {"vcpus": 2}}, CHANGED),
    "label a droplet": ("PATCH", "droplets/hello", {"labels": {"a": "b"}}, MARKED),
    "protect a resource": ("PATCH", "resources/hello", {"protected": True}, MARKED),
    "delete a droplet": ("DELETE", "droplets/hello", {"confirm_name": "hello"}, CHANGED),
    "see an image": ("GET", "images/tiny", None, SEEN),
    "declare an image": ("POST", "images", IMAGE, MADE),
    "label an image": ("PATCH", "images/tiny", {"labels": {"a": "b"}}, MARKED),
    "see a key": ("GET", "sshkeys/ada", None, SEEN),
    "declare a key": ("POST", "sshkeys", KEY, MADE),
    "delete a key": ("DELETE", "sshkeys/ada", {"confirm_name": "ada"}, CHANGED),
    "see an operation": ("GET", "operations/{operation}", None, SEEN),
    "cancel an operation": ("POST", "operations/{operation}/cancel", {}, CHANGED),
    "list nodes": ("GET", "nodes", None, ALL_SEE),
    "see a node": ("GET", "nodes/n1", None, ALL_SEE),
    "declare a node": ("POST", "nodes", {"name": "n2", "zone": "home"}, FLEET_MADE),
    "label a node": ("PATCH", "nodes/n1", {"labels": {"a": "b"}}, FLEET_CHANGED),
    "drain a node": ("POST", "nodes/n1/drain", {}, FLEET_CHANGED),
    "let a machine in": ("POST", "nodes/n1/token", {}, FLEET_MADE),
    "revoke certificates": ("DELETE", "nodes/n1/certificates", {}, FLEET_CHANGED),
    "see a zone": ("GET", "zones/home", None, ALL_SEE),
    "draw a zone": ("POST", "zones", {"name": "z"}, FLEET_MADE),
    "change a zone": ("PATCH", "zones/home", {"kind_label": "x"}, FLEET_CHANGED),
    "delete a zone": (
        "DELETE",
        "zones/empty",
        {"confirm_name": "empty"},
        (401, 403, 403, 403, 403, 204),
    ),
    "see an owner": ("GET", "owners/default", None, SEEN),
    "make an owner": ("POST", "owners", {"name": "o"}, FLEET_MADE),
    "rename an owner": (
        "PATCH",
        "owners/default",
        {"name": "o"},
        (401, 404, 403, 403, 403, 200),
    ),
    "read the audit journal": ("GET", "audit", None, (401, 403, 403, 403, 403, 200)),
    "apply a zone": ("POST", "apply", [ZONE_MANIFEST], (401, 403, 403, 403, 403, 202)),
    "apply a key": ("POST", "apply", [KEY_MANIFEST], (401, 422, 403, 202, 403, 202)),
    "plan a key": ("POST", "plan", [KEY_MANIFEST], (401, 422, 403, 200, 403, 200)),
    "compare a key": ("POST", "diff", [KEY_MANIFEST], (401, 422, 200, 200, 200, 200)),
    "see oneself": ("GET", "me", None, ALL_SEE),
    "list found guests": ("GET", "found", None, ALL_SEE),
}


@pytest.fixture
def apis(admin, droplet_factory, node_factory, call, settings, tmp_path):
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"data_dir": tmp_path})
    node_factory("n1")
    factories.make_zone(call, "empty")
    factories.make_ssh_key(call)
    droplet_factory("hello")

    def make(role: str) -> Api:
        if role == NOBODY:
            return Api()
        if role in {READER, ADMIN}:
            return Api(token_of(admin, scope="read" if role == READER else "write"))
        wanted = None if role == STRANGER else role
        return Api(token_of(factories.make_user(role, role=wanted)))

    return make


def snapshot() -> list[object]:
    return [
        [list(model.objects.order_by("pk").values()) for model in (Resource, Node, Zone, Owner)],
        list(Operation.objects.order_by("pk").values()),
    ]


@pytest.mark.parametrize("role", ROLES)
def test_the_permission_matrix_holds(apis, role):
    operation = Operation.objects.get(kind="droplet.create").pk
    api = apis(role)
    api.get("me")
    before = snapshot()
    wrong = {}
    for name, (method, path, body, expected) in MATRIX.items():
        with transaction.atomic():
            answer = api.ask(method, path.format(operation=operation), body)
            if answer.status_code != expected[ROLES.index(role)]:
                wrong[name] = (answer.status_code, answer.content[:200])
            if (answer.status_code >= 400 or method == "GET") and snapshot() != before:
                wrong[name] = "it changed something"
            transaction.set_rollback(True)
    assert not wrong


def test_what_others_own_looks_like_what_is_not_there(apis, call):
    factories.make_owner(call, "team")
    lab = Owner.objects.get(name="team")
    other = Api(token_of(factories.make_user("eve", role="owner", owner=lab)))
    hidden = other.get("droplets/hello")
    missing = other.get("droplets/hellp")
    assert hidden.status_code == missing.status_code == 404
    assert set(hidden.json()) == set(missing.json())
    assert hidden.json()["code"] == missing.json()["code"]
    assert other.get("droplets").json()["items"] == []
    assert other.get("operations").json()["items"] == []
    assert other.get("droplets?owner=default").status_code == 404
    assert other.post("droplets", {"name": "x", "owner": "default", "spec": {"image": "tiny"}}
                      ).status_code == 404  # fmt: skip
    answer = other.post("droplets", {"name": "x", "spec": {"image": "tiny"}})
    assert answer.status_code == 422  # the image is another owner's
