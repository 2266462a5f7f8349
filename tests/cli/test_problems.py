from __future__ import annotations

import pytest

from infra.cli.failures import ExitCode, failure_text
from infra.cli.problems import failure_of
from infra.cli.questions import Answer, Question, refused


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, 1), (401, 1), (403, 1), (404, 3), (409, 4), (412, 4), (422, 1), (429, 1), (500, 1)],
)
def test_each_status_has_its_exit_code(status: int, code: int) -> None:
    assert failure_of(status, {"detail": "x"}).code == ExitCode(code)


def test_an_invalid_request_names_each_field() -> None:
    document = {
        "title": "The request is not valid",
        "detail": "/spec/vcpus: too many",
        "errors": [{"pointer": "/spec/vcpus", "code": "range", "detail": "At most 512."}],
    }

    assert failure_text(failure_of(422, document)) == (
        "Error: The request is not valid.\n  /spec/vcpus  At most 512.\nNothing was changed."
    )


def test_what_the_server_says_of_safety_is_not_said_twice() -> None:
    failure = failure_of(409, {"detail": "It is protected. Nothing changed; lift it first."})

    assert failure.safe == ""


def test_a_server_that_breaks_on_a_change_leaves_it_uncertain_and_says_how_to_repeat_it() -> None:
    question = Question("POST", "droplets", headers={"Idempotency-Key": "abc"})

    failure = refused(question, Answer(500, {"detail": "broken"}))

    assert failure.code == ExitCode.UNCERTAIN
    assert "--idempotency-key abc" in failure.advice


def test_a_server_that_breaks_on_a_read_is_only_an_error() -> None:
    assert refused(Question("GET", "droplets"), Answer(500)).code == ExitCode.ERROR


def test_an_answer_without_words_still_says_something() -> None:
    assert "502" in failure_of(502, {}).what
