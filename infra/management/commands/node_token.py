"""Makes a one-time token that lets one machine become a node."""

from __future__ import annotations

from argparse import ArgumentParser

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from inventory.access import Actor, access_node
from inventory.errors import InfraError
from operations.enrolment import create_enrolment_token
from operations.intents.call import Call


class Command(BaseCommand):
    """Prints the token and where it is used; earlier unused tokens of the node end."""

    help = "Makes a one-time token that lets one machine become the named node."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("node", help="name or id of a node that has not left")

    def handle(self, *, node: str, **_options: object) -> None:
        actor = Actor(user_id=None, label="command line of the machine", administrator=True)
        try:
            found = access_node(actor, node)
            token = create_enrolment_token(found, Call(actor=actor, now=timezone.now()))
        except InfraError as error:
            raise CommandError(str(error)) from error
        environment = settings.ENVIRONMENT
        self.stdout.write(token)
        self.stderr.write(
            f"Use it once, within a day, at https://{environment.edge_address}:"
            f"{environment.enrol_port} (authority: {environment.authority / 'ca.pem'})."
        )
