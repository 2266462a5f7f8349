"""What the documents say is what the code does."""

from __future__ import annotations

import os
from pathlib import Path

from tests.architecture.diagrams import PAGE, drawn_page

ROOT = Path(__file__).resolve().parents[2]


def test_the_pictures_of_the_state_machines_equal_the_tables():
    page = PAGE.read_text()
    if os.environ.get("INFRA_REWRITE"):
        PAGE.write_text(drawn_page(page))
    assert page == drawn_page(page)
