from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone

from infra.api.tokens import make_token
from inventory.access import actor_for
from inventory.models import Resource, User
from operations.intents.call import Call
from tests import factories
from tests.cli.command import Infra
from tests.cli.live import Fleet, Web
from tests.operations.fleet import WireNode


@pytest.fixture
def infra(tmp_path: Path) -> Infra:
    """The command on a machine where nothing is set up."""
    return Infra(tmp_path, {})


@pytest.fixture
def admin(transactional_db: None) -> User:
    factories.make_installation()
    return factories.make_admin()


@pytest.fixture
def call(admin: User) -> Call:
    return factories.make_call(admin)


@pytest.fixture
def tiny(call: Call) -> Resource:
    """The verified image `tiny`."""
    return factories.make_image(call)


@pytest.fixture
def node(call: Call) -> WireNode:
    """A ready node with room."""
    return factories.make_node(call)


@pytest.fixture
def web(admin: User) -> Iterator[Web]:
    with Web() as running:
        yield running
    connection.close_pool()


@pytest.fixture
def fleet(node: WireNode, tiny: Resource) -> Iterator[Fleet]:
    with Fleet(lambda: [node]) as running:
        yield running


@pytest.fixture
def token_of() -> Callable[[User], str]:
    """Make tokens of people."""

    def make(user: User) -> str:
        call = Call(actor=actor_for(user), now=timezone.now())
        return make_token(call, user, name="tests")[1]

    return make


@pytest.fixture
def live(infra: Infra, web: Web, admin: User, token_of: Callable[[User], str]) -> Infra:
    """The command, told of a running installation and signed in as its administrator."""
    return Infra(infra.home, {"INFRA_URL": web.url, "INFRA_TOKEN": token_of(admin)})
