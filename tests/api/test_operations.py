"""Operations: list, detail, cancel, retry, and waiting for their end."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from inventory.models import Resource
from operations.executor import advance
from operations.models import Operation
from tests import factories
from tests.api.client import Api, token_of


def test_an_operation_tells_steps_journal_and_explanation(api, droplet_factory):
    droplet = droplet_factory("hello")
    operation = Operation.objects.get(resource=droplet)
    shown = api.get(f"operations/{operation.pk}").json()
    assert shown["generation"] == "1.1"
    assert shown["journal"][0]["event"] == "opened"
    assert "admin asked" in shown["explanation"]["asked"]
    assert shown["explanation"]["next"]
    assert shown["children"] == []


def test_a_waiting_operation_says_what_for(api, droplet_factory, node_factory, call):
    node_factory("n1")
    droplet = droplet_factory("huge", memory_mib=100_000)
    operation = Operation.objects.get(resource=droplet)
    advance(operation.pk, now=call.now)
    shown = api.get(f"operations/{operation.pk}").json()
    assert shown["waiting_on"]["refused"] == {"memory": 1}
    assert shown["waiting_text"]
    assert api.get("droplets/huge").json()["state"] == "waiting"


def test_the_list_is_narrowed(api, droplet_factory, call):
    droplet_factory("a")
    droplet_factory("b")

    def names(query):
        return [each["resource_name"] for each in api.get(f"operations?{query}").json()["items"]]

    assert names("kind=droplet.create") == ["b", "a"]
    assert names("state=open&order=created") == ["a", "b"]
    assert names("state=succeeded") == ["tiny"]
    assert names("resource=a") == ["a"]
    assert names("mine=true&q=A") == ["a"]
    assert api.get("operations?state=done").status_code == 422
    assert api.get("operations?resource=nobody").status_code == 404


def test_cancelling_takes_back_what_was_not_sent(api, droplet_factory):
    droplet_factory("hello")
    stop = api.post("droplets/hello/stop").json()
    answer = api.post(f"operations/{stop['id']}/cancel")
    assert answer.status_code == 202
    assert answer.json()["state"] == "cancelled"
    assert api.get("droplets/hello").json()["spec"]["power"] == "running"
    again = api.post(f"operations/{stop['id']}/cancel")
    assert again.json()["code"] == "operation.finished"
    assert api.post(f"operations/{stop['id']}/cancel", {"why": 1}).status_code == 422


def test_only_what_failed_is_retried(api, droplet_factory):
    droplet = droplet_factory("hello")
    operation = Operation.objects.get(resource=droplet)
    answer = api.post(f"operations/{operation.pk}/retry")
    assert answer.json()["code"] == "operation.not_failed"


def test_the_answer_of_a_finished_operation_is_not_held_back(api, owner):
    key = {"name": "ada", "spec": {"public_key": factories.PUBLIC_KEY}}
    answer = api.post("sshkeys", key)
    assert answer.json()["state"] == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_prefer_wait_answers_when_the_operation_has_ended():
    factories.make_installation()
    admin = factories.make_admin()
    call = factories.make_call(admin)
    node = factories.make_node(call)
    factories.make_image(call)
    api = Api(token_of(admin))

    def work():
        try:
            operation = None
            while operation is None:
                operation = Operation.objects.filter(kind="droplet.create").first()
            factories.carry_out(operation, node, now=timezone.now())
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    body = {"name": "hello", "spec": {"image": "tiny"}}
    answer = api.post("droplets", body, Prefer="wait=20")
    worker.join()
    assert answer.status_code == 200
    assert answer["Preference-Applied"] == "wait=20"
    assert answer.json()["state"] == "succeeded"
    assert answer["Location"].endswith(answer.json()["id"])
    waited = api.get(f"operations/{answer.json()['public_id']}", Prefer="wait=5")
    assert waited.json()["state"] == "succeeded"
    assert waited.json()["explanation"]


@pytest.mark.django_db(transaction=True)
def test_prefer_wait_ends_with_its_time():
    factories.make_installation()
    admin = factories.make_admin()
    factories.make_image(factories.make_call(admin))
    api = Api(token_of(admin))
    body = {"name": "hello", "spec": {"image": "tiny"}}
    answer = api.post("droplets", body, Prefer="respond-async, wait=1")
    assert answer.status_code == 202
    assert answer.json()["state"] == "queued"
    assert Resource.objects.filter(name="hello").exists()
