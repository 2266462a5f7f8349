from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import Infra


@pytest.fixture
def infra(tmp_path: Path) -> Infra:
    """The command on a machine where nothing is set up."""
    return Infra(tmp_path, {})
