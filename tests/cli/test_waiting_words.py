"""What the command says when it stops waiting."""

from infra.cli.operations import timed_out


def test_giving_up_says_what_is_waited_for_in_one_sentence():
    operation = {
        "public_id": 7,
        "kind": "droplet.create",
        "resource_name": "web-2",
        "state": "queued",
        "waiting_text": "None of 1 nodes has room: 1 too few vCPUs left.",
    }
    words = str(timed_out(operation, 2))
    assert "too few vCPUs left, after 2 s." in words
    assert ".," not in words
