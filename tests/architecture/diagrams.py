"""Draws state tables as Mermaid blocks, for the documentation and for the test that compares."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from inventory.lifecycles import NODE_TRANSITIONS, NodeLifecycle
from operations.transitions import STEP_TRANSITIONS, StepState

PAGE = Path(__file__).resolve().parents[2] / "docs" / "state-machines.md"


def draw(start: str, table: Mapping[tuple[str, str], str]) -> str:
    """Return the Mermaid block of a table; moves between the same states share an arrow."""
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (before, event), after in table.items():
        arrows[str(before), str(after)].append(str(event))
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {start}"]
    lines += [
        f"    {before} --> {after}: {', '.join(events)}"
        for (before, after), events in arrows.items()
    ]
    return "\n".join([*lines, "```"])


def drawn_page(page: str) -> str:
    """Return the page with the block of every marker replaced by what the tables say."""
    blocks = {
        "step": draw(StepState.UNSENT, STEP_TRANSITIONS),
        "node": draw(NodeLifecycle.JOINING, NODE_TRANSITIONS),
    }
    for name, block in blocks.items():
        head, rest = page.split(f"<!-- {name} -->\n", 1)
        _, tail = rest.split("<!-- end -->", 1)
        page = f"{head}<!-- {name} -->\n{block}\n<!-- end -->{tail}"
    return page


if __name__ == "__main__":
    PAGE.write_text(drawn_page(PAGE.read_text()))
