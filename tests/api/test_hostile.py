"""Huge, odd and hostile requests get a clear 4xx and leave nothing behind."""

import pytest

from infra.api.views import droplets
from inventory.models import AuditEvent, Resource
from operations.models import Operation

SPEC = '"spec": {"image": "tiny"}'
BODIES = {
    "not JSON": ("{", 400),
    "not UTF-8": (b'{"name": "\xff\xfe"}', 400),
    "UTF-16": ('{"name": "a"}'.encode("utf-16"), 400),
    "a list": ("[]", 422),
    "a text": ('"hello"', 422),
    "null": ("null", 422),
    "a NUL in a name": (f'{{"name": "a\\u0000b", {SPEC}}}', 422),
    "a NUL in user data": ('{"name": "a", "spec": {"image": "tiny", "user_data": "\\u0000"}}', 422),
    "a NUL in a label": (f'{{"name": "a", "labels": {{"a": "\\u0000"}}, {SPEC}}}', 422),
    "a NUL in a key": (f'{{"na\\u0000me": "a", {SPEC}}}', 422),
    "a lone surrogate": (f'{{"name": "a\\ud800", {SPEC}}}', 422),
    "a lone surrogate in a key": ('{"\\udfff": 1}', 422),
    "a huge number": ('{"name": "a", "spec": {"image": "tiny", "vcpus": ' + "9" * 5000 + "}}", 400),
    "a number beyond bigint": ('{"name": "a", "spec": {"image": "tiny", "vcpus": 1e400}}', 400),
    "a large number": ('{"name": "a", "spec": {"image": "tiny", "vcpus": 999999999}}', 422),
    "NaN": ('{"name": "a", "spec": {"image": "tiny", "vcpus": NaN}}', 400),
    "a key twice": (f'{{"name": "a", "name": "b", {SPEC}}}', 400),
    "deep": ("[" * 100_000 + "]" * 100_000, 400),
    "deep in a field": ('{"name": ' + '{"a":' * 200 + "1" + "}" * 200 + "}", 400),
    "many labels": (
        '{"name": "a", "labels": {'
        + ",".join(f'"k{index}": "v"' for index in range(1000))
        + "}, "
        + SPEC
        + "}",
        422,
    ),
    "a long name": ('{"name": "' + "x" * 1_000_000 + f'", {SPEC}}}', 422),
    "a huge body": ('{"name": "' + "x" * 3_000_000 + '"}', 413),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_hostile_body_gets_a_clear_answer_and_leaves_nothing(api, image, name):
    raw, status = BODIES[name]
    before = Resource.objects.count(), Operation.objects.count(), AuditEvent.objects.count()
    answer = api.ask("POST", "droplets", raw=raw)
    assert answer.status_code == status, answer.content[:300]
    problem = answer.json()
    assert answer["Content-Type"] == "application/problem+json"
    assert problem["code"]
    assert problem["request_id"]
    assert len(answer.content) < 20_000
    after = Resource.objects.count(), Operation.objects.count(), AuditEvent.objects.count()
    assert after == before


def test_other_content_types_are_refused(api, image):
    body = '{"name": "a", "spec": {"image": "tiny"}}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data",
                         "application/xml", "application/yaml", ""):  # fmt: skip
        answer = api.ask("POST", "droplets", raw=body, content_type=content_type)
        assert answer.status_code == 415, content_type
    assert api.ask("POST", "droplets", raw=body, content_type="APPLICATION/JSON; charset=utf-8")


def test_odd_addresses_are_not_found(api, owner):
    for key in ("%00", "a%00b", "%ff", "%2e%2e", "%F0%9F%98%80", "9" * 30, "-1", "0" * 4000, "%0a"):
        for noun in ("droplets", "nodes", "zones", "owners", "operations", "tokens", "found"):
            answer = api.get(f"{noun}/{key}")
            assert answer.status_code == 404, (noun, key)
            assert answer["Content-Type"] == "application/problem+json"


def test_odd_parameters_are_refused(api, owner):
    for query in ("q=%00", "label=%00", "label=a=%00", "zone=%00", "owner=%00", "cursor=%00"):
        assert api.get(f"droplets?{query}").status_code in {404, 422}, query
    assert api.get("droplets?label=" + ",".join("abcdefghi")).status_code == 422
    assert api.get("audit?object=x").status_code == 422


def test_every_request_has_an_id_of_ours(api, image):
    body = {"name": "a", "spec": {"image": "tiny"}}
    answer = api.post("droplets", body, X_Request_ID="x" * 5000)
    assert answer.status_code == 202
    assert answer["X-Request-ID"] == answer.json()["request_id"]
    assert len(answer["X-Request-ID"]) == 36


def test_a_method_that_is_not_there_says_which_are(api):
    answer = api.ask("PUT", "droplets", {})
    assert answer.status_code == 405
    assert answer.json()["code"] == "method_not_allowed"
    assert "POST" in answer["Allow"]


def test_options_and_head_are_answered(api, image):
    assert api.ask("OPTIONS", "droplets").status_code == 200
    head = api.ask("HEAD", "images/tiny")
    assert (head.status_code, head.content) == (200, b"")
    assert head["ETag"] == api.get("images/tiny")["ETag"]


def test_what_is_not_there_is_a_problem_document(api):
    for path in ("nothing", "", "droplets/a/b/c"):
        answer = api.get(path)
        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"


def test_a_mistake_of_ours_is_a_problem_document_too(api, monkeypatch, image):
    def broken(*_args, **_more):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(droplets, "show_droplets", broken)
    answer = api.get("droplets")
    assert answer.status_code == 500
    assert answer.json()["code"] == "internal"
    assert b"secret" not in answer.content
