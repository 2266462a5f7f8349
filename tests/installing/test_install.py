"""`manage.py install`: makes what is missing, once."""

from __future__ import annotations

import json
import stat
from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import CommandError, call_command
from django.utils import timezone

from infra.api.tokens import find_token
from inventory.models import EnrolmentToken, Installation, Node, NodeCertificate, Owner, User, Zone


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings.ENVIRONMENT, "data_dir", tmp_path)
    monkeypatch.setattr(settings.ENVIRONMENT, "ca_dir", None)
    monkeypatch.setattr(settings.ENVIRONMENT, "image_store", None)
    return tmp_path


def install(*options: str) -> dict[str, object]:
    told = StringIO()
    call_command("install", "--json", "--node-name", "n1", *options, stdout=told)
    return json.loads(told.getvalue())


@pytest.mark.django_db
def test_a_new_installation_has_all_it_needs(folders: Path) -> None:
    made = install()

    person = User.objects.get()
    node = Node.objects.get()
    assert person.check_password(str(made["admin_password"]))
    assert (made["node_id"], node.name, node.zone.name) == (str(node.pk), "n1", "home")
    assert made["installation_id"] == str(Installation.objects.get().pk)
    assert Owner.objects.get().is_default
    assert str(made["node_token"]).startswith("infra_node_")
    assert made["inventory_empty"]
    assert made["declare_example"]
    assert (folders / "ca" / "server.pem").exists()
    secret = folders / "secrets" / "cli_token"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    token = find_token(secret.read_text().strip(), now=timezone.now())
    assert token is not None
    assert token.user == person


@pytest.mark.django_db
def test_a_second_run_makes_nothing_again(folders: Path) -> None:
    first = install()
    kept = {path.name: path.read_bytes() for path in folders.rglob("*") if path.is_file()}

    second = install()

    assert second["admin_password"] is None
    assert second["node_id"] == first["node_id"]
    assert {path.name: path.read_bytes() for path in folders.rglob("*") if path.is_file()} == kept
    counts = [model.objects.count() for model in (User, Node, Zone, Owner, Installation)]
    assert counts == [1] * 5


@pytest.mark.django_db
def test_a_node_with_a_certificate_gets_no_token() -> None:
    made = install()
    now = timezone.now()
    NodeCertificate.objects.create(
        node_id=made["node_id"], fingerprint="f" * 64, serial="1", not_before=now,
        not_after=now + timedelta(days=1), issued_at=now, first_used_at=now,
    )  # fmt: skip

    assert install()["node_token"] is None


@pytest.mark.django_db
def test_bare_asks_for_no_example_but_keeps_the_node() -> None:
    made = install("--bare", "--zone", "rack 1")

    assert not made["declare_example"]
    assert Node.objects.get().zone.name == "rack 1"


@pytest.mark.django_db
def test_a_lost_cli_token_is_replaced(folders: Path) -> None:
    install()
    secret = folders / "secrets" / "cli_token"
    lost = secret.read_text().strip()
    secret.unlink()

    install()

    assert find_token(lost, now=timezone.now()) is None
    assert find_token(secret.read_text().strip(), now=timezone.now()) is not None


@pytest.mark.django_db
def test_a_token_is_made_for_a_node_by_name() -> None:
    install()
    told = StringIO()

    call_command("node_token", "n1", stdout=told, stderr=StringIO())

    assert told.getvalue().startswith("infra_node_")
    live = EnrolmentToken.objects.filter(expires_at__gt=timezone.now())
    assert live.count() == 1
    with pytest.raises(CommandError, match="no node"):
        call_command("node_token", "n2")
