from __future__ import annotations

from infra.cli.kinds import BY_NAME
from infra.cli.plans import diff_lines, plan_lines
from infra.cli.printing import Format
from infra.cli.watching import changed_lines

PLAN = {
    "items": [
        {"kind": "Zone", "name": "home", "action": "unchanged", "changes": [], "warnings": []},
        {
            "kind": "Droplet",
            "name": "web",
            "action": "change",
            "changes": [{"pointer": "/spec/vcpus", "before": 2, "after": 4},
                        {"pointer": "/spec/user_data", "before": None, "after": "x"}],
            "warnings": ["The guest restarts."],
        },
    ]
}  # fmt: skip


def test_a_plan_has_a_line_for_each_object_and_what_differs_below() -> None:
    assert plan_lines(PLAN) == [
        "= Zone home: unchanged",
        "~ Droplet web: change",
        "    /spec/vcpus: 2 -> 4",
        '    /spec/user_data: (nothing) -> "x"',
        "    ! The guest restarts.",
    ]


def test_a_difference_leaves_out_what_is_the_same() -> None:
    assert diff_lines(PLAN)[0] == "~ Droplet web: change"
    assert diff_lines({"items": PLAN["items"][:1]}) == []


def test_a_watch_tells_what_is_new_what_differs_and_what_is_gone() -> None:
    before = {"1": {"name": "a", "state": "running"}, "2": {"name": "b", "state": "running"}}
    after = {"1": {"name": "a", "state": "stopped"}, "3": {"name": "c", "state": "running"}}

    lines = changed_lines(BY_NAME["droplet"], before, after, Format.TABLE, titled=True)

    assert [line.split()[:2] for line in lines] == [
        ["a", "stopped"],
        ["c", "running"],
        ["b", "deleted"],
    ]
    assert changed_lines(BY_NAME["droplet"], after, after, Format.TABLE, titled=False) == []
