"""What most tests start from. A folder may give any of these names a meaning of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from inventory.access import Actor, actor_for
from inventory.models import Owner, Resource, User, Zone
from operations.intents.call import Call
from tests import factories
from tests.operations.fleet import WireNode


@pytest.fixture(autouse=True)
def quick_passwords(settings) -> None:
    """Hash passwords cheaply: people are made in nearly every test, and never attacked."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture
def owner(db: None) -> Owner:
    """Return the default owner of a new installation."""
    factories.make_installation()
    return Owner.objects.get(is_default=True)


@pytest.fixture
def admin(owner: Owner) -> User:
    return factories.make_admin()


@pytest.fixture
def actor(admin: User) -> Actor:
    """Return the administrator, as intents take it."""
    return actor_for(admin)


@pytest.fixture
def call(actor: Actor) -> Call:
    return factories.make_call(actor)


@pytest.fixture
def zone(call: Call) -> Zone:
    return factories.make_zone(call)


@pytest.fixture
def node_factory(call: Call) -> Callable[..., WireNode]:
    """Make ready nodes with room: `node_factory("n1", vcpus=4)`."""

    def make(name: str = "n1", **parts: object) -> WireNode:
        return factories.make_node(call, name, **parts)

    return make


@pytest.fixture
def image(call: Call) -> Resource:
    """Return the verified image `tiny`."""
    return factories.make_image(call)


@pytest.fixture
def droplet_factory(call: Call, image: Resource) -> Callable[..., Resource]:
    """Make droplets of the image `tiny`: `droplet_factory("a", on=node, vcpus=2)`."""

    def make(name: str = "hello", **parts: object) -> Resource:
        return factories.make_droplet(call, name, **parts)

    return make


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the flags of tests that keep numbers in files."""
    parser.addoption(
        "--write-query-counts", action="store_true", help="write tests/query_counts.json anew"
    )


SLOW_FIRST = ("cloudinit", "chaos", "machine", "browser")
"""Long tests begin first, so that several processes end at about the same time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Bring the files that hold long tests to the front, each as it was."""
    rank: dict[str, int] = {}
    for item in items:
        path = item.nodeid.partition("::")[0]
        for place, marker in enumerate(SLOW_FIRST):
            if item.get_closest_marker(marker) is not None:
                rank[path] = min(place, rank.get(path, place))
    items.sort(key=lambda item: rank.get(item.nodeid.partition("::")[0], len(SLOW_FIRST)))
