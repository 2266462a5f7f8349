"""The command line's own token on the machine of the control plane, in a file of its owner."""

from __future__ import annotations

import os
from pathlib import Path

from django.db import transaction

from infra.api.models import ApiToken
from infra.api.tokens import find_token, make_token
from inventory.models import User
from operations.intents.call import Call

TOKEN_NAME = "command line of the control plane"  # noqa: S105  a name, not a secret


def ensure_cli_token(path: Path, call: Call) -> bool:
    """Keep a token that works in the file (mode 0600); return whether it was made now.

    It stands for the first administrator. Without one there is none to make. A token whose file
    was lost is replaced.
    """
    person = User.objects.filter(is_superuser=True, is_active=True).order_by("pk").first()
    if person is None or _works(path, call):
        return False
    with transaction.atomic():
        ApiToken.objects.filter(user=person, name=TOKEN_NAME).delete()
        _token, text = make_token(call, person, name=TOKEN_NAME)
        _write(path, text)
    return True


def _works(path: Path, call: Call) -> bool:
    return path.exists() and find_token(path.read_text().strip(), now=call.now) is not None


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_name(path.name + ".new")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text + "\n")
    fresh.replace(path)
