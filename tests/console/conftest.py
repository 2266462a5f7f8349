"""People at the console, and an installation to look at."""

from __future__ import annotations

import pytest
from django.test import Client

from inventory.models import User
from operations.intents.call import Call
from tests import factories
from tests.console.world import World, build_world


@pytest.fixture
def browser(admin: User) -> Client:
    """Return a browser without a screen, signed in as the administrator."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(admin)
    return client


@pytest.fixture
def stranger(owner) -> Client:
    """Return somebody who belongs to another team."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(factories.make_user("eve"))
    return client


@pytest.fixture
def viewer(owner) -> Client:
    """Return somebody who may look at the default owner's things, and no more."""
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(factories.make_user("vera", role="viewer"))
    return client


@pytest.fixture
def world(admin: User, call: Call) -> World:
    return build_world(admin, call)
