"""Sets the installation up in a migrated database, and tells what it made. May run again."""

from __future__ import annotations

import json
import socket
from argparse import ArgumentParser
from dataclasses import asdict, dataclass

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import transaction
from django.utils import timezone

from infra.authority import ensure_authority
from infra.cli_token import ensure_cli_token
from inventory.access import Actor
from inventory.models import Resource
from operations.enrolment import create_enrolment_token
from operations.intents.call import Call
from operations.setting_up import (
    ensure_administrator,
    ensure_default_owner,
    ensure_installation,
    ensure_node,
    ensure_zone,
    holds_certificate,
    lock_setting_up,
)

ADMINISTRATOR = "admin"


@dataclass(frozen=True)
class Installed:
    """What was found or made. Secrets are None unless they were made now; they are not kept."""

    installation_id: str
    admin_user: str
    admin_password: str | None
    zone_id: str
    node_id: str
    node_name: str
    node_token: str | None
    inventory_empty: bool
    declare_example: bool


class Command(BaseCommand):
    """Makes what is missing: cache table, authority, installation, owner, person, zone, node."""

    help = "Sets the installation up; what exists already is left as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="tell it as one JSON document")
        parser.add_argument(
            "--bare",
            action="store_true",
            help="leave the inventory without resources; this machine still becomes a node",
        )
        parser.add_argument(
            "--migrate",
            action="store_true",
            help="bring the schema up to date first; one program starts faster than two",
        )
        parser.add_argument("--node-name", default="", help="default: the machine's own name")
        parser.add_argument("--zone", default="home", help="the zone this machine stands in")

    def handle(
        self,
        *,
        json: bool,
        bare: bool,
        migrate: bool,
        node_name: str,
        zone: str,
        **_options: object,
    ) -> None:
        if migrate:
            call_command("migrate", interactive=False, verbosity=0, skip_checks=True)
        installed = install(node_name=node_name or machine_name(), zone_name=zone, bare=bare)
        self.stdout.write(_as_json(installed) if json else _as_text(installed))


def install(*, node_name: str, zone_name: str, bare: bool) -> Installed:
    """Return what was found or made. Raises what the intents raise for names that cannot be."""
    now = timezone.now()
    call = Call(
        actor=Actor(user_id=None, label="installation", administrator=True),
        now=now,
        reason="set-up",
    )
    call_command("createcachetable", verbosity=0)
    authority = ensure_authority(settings.ENVIRONMENT.authority, now=now)
    authority.ensure_server_certificate(settings.ENVIRONMENT.edge_address, now=now)
    settings.ENVIRONMENT.images.mkdir(parents=True, exist_ok=True)
    with transaction.atomic():
        lock_setting_up()
        installation = ensure_installation(call)
        ensure_default_owner()
        password = ensure_administrator(ADMINISTRATOR)
        zone = ensure_zone(call, zone_name)
        node = ensure_node(call, node_name, zone)
        token = None if holds_certificate(node.pk, call) else create_enrolment_token(node, call)
        ensure_cli_token(settings.ENVIRONMENT.data_dir / "secrets" / "cli_token", call)
        empty = not Resource.objects.exists()
    return Installed(
        installation_id=str(installation.pk),
        admin_user=ADMINISTRATOR,
        admin_password=password,
        zone_id=str(zone.pk),
        node_id=str(node.pk),
        node_name=node.name,
        node_token=token,
        inventory_empty=empty,
        declare_example=empty and not bare,
    )


def machine_name() -> str:
    """Return what the machine calls itself, without its domain."""
    return socket.gethostname().partition(".")[0] or "node"


def _as_json(installed: Installed) -> str:
    return json.dumps(asdict(installed))


def _as_text(installed: Installed) -> str:
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in asdict(installed).items()]
    return "\n".join(lines)
