from __future__ import annotations

from datetime import UTC, datetime

from infra.cli.describing import describe_lines
from infra.cli.kinds import BY_NAME

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)

DROPLET = {
    "name": "hello",
    "owner": {"id": "1", "name": "default"},
    "labels": {"Memory_mib": "is a name here"},
    "created_at": "2026-01-01T11:00:00Z",
    "expires_at": "2026-01-03T12:00:00Z",
    "state": "running",
    "spec": {"memory_mib": 128, "stop": {"force": True}, "ssh_keys": ["ada", "bob"]},
    "capacity": {"vcpus": 2, "memory_mib": 4, "disk_gib": 6},
    "note": "",
    "said": "\x1b[2Jgone",
}

OPERATION = {
    "public_id": 7,
    "kind": "droplet.create",
    "resource_name": "hello",
    "state": "reconciling",
    "explanation": {
        "asked": "Ada asked.",
        "sent": [],
        "known": ["One.", "Two."],
        "unknown": ["Whether it was done."],
        "next": "Its ledger decides.",
        "safe": ["You may wait."],
    },
    "steps": [
        {"kind": "apply", "state": "unknown", "node": "n1", "attempts": 1, "message": "lost"}
    ],
    "children": [{"public_id": 8, "kind": "zone", "resource_name": "z", "state": "queued"}],
    "journal": [{"at": "12:00", "event": "lose", "before": "sent", "after": "unknown",
                 "because": "No answer."}],
}  # fmt: skip


def test_an_object_is_told_from_what_matters_to_its_parts() -> None:
    assert describe_lines(BY_NAME["droplet"], DROPLET, now=NOW) == [
        "Droplet hello",
        "  State       running",
        "  Name        hello",
        "  Owner       default",
        "  Created at  2026-01-01T11:00:00Z (1h ago)",
        "  Expires at  2026-01-03T12:00:00Z (in 2d)",
        "  Capacity    2 vCPUs, 4 MiB, 6 GiB",
        "  Said        \ufffd[2Jgone",
        "",
        "Labels",
        "  Memory_mib  is a name here",
        "",
        "Spec",
        "  Memory MiB  128",
        "  SSH keys    ada, bob",
        "",
        "Spec stop",
        "  Force  yes",
    ]


def test_an_operation_says_what_is_known_and_unknown_and_safe() -> None:
    lines = describe_lines(BY_NAME["operation"], OPERATION, now=NOW)

    assert lines[:15] == [
        "Operation 7: droplet.create hello: reconciling",
        "  Asked    Ada asked.",
        "  Known    One.",
        "           Two.",
        "  Unknown  Whether it was done.",
        "  Next     Its ledger decides.",
        "  Safe     You may wait.",
        "",
        "Steps",
        "  STEP    STATE     NODE   TRIES   TOOK   MESSAGE",
        "  apply   unknown   n1     1       -      lost",
        "",
        "Parts",
        "  NUMBER   KIND   OF   STATE",
        "  8        zone   z    queued",
    ]
    assert "  12:00  lose  sent -> unknown  No answer." in lines
