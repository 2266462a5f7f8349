"""The API as an administrator and as others see it."""

from __future__ import annotations

import pytest

from inventory.models import User
from tests import factories
from tests.api.client import Api, token_of


@pytest.fixture
def api(admin: User) -> Api:
    return Api(token_of(admin))


@pytest.fixture
def operator(owner: object) -> User:
    return factories.make_user("oscar", role="operator")


@pytest.fixture
def viewer(owner: object) -> User:
    return factories.make_user("vera", role="viewer")
