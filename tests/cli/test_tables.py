from __future__ import annotations

import io

from rich.console import Console

from infra.cli.tables import make_table, plain_lines, rich_table


def test_columns_line_up_for_wide_characters_too() -> None:
    lines = plain_lines(make_table(["NAME", "STATE"], [["服务测试", "running"], ["a", "stopped"]]))

    assert lines == ["NAME       STATE", "服务测试   running", "a          stopped"]


def test_what_looks_like_markup_is_only_text() -> None:
    written = io.StringIO()
    Console(file=written, width=60).print(rich_table(make_table(["NAME"], [["[red]x[/red]"]])))

    assert "[red]x[/red]" in written.getvalue()


def test_not_knowing_is_never_red() -> None:
    written = io.StringIO()
    console = Console(file=written, width=60, force_terminal=True, color_system="standard")
    console.print(rich_table(make_table(["STATE"], [["reconciling"], ["failed"]])))

    reconciling, failed = written.getvalue().splitlines()[1:3]
    assert "\x1b[33m" in reconciling
    assert "\x1b[31m" in failed
