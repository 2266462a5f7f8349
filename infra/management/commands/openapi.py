"""Writes what is generated from the API's shapes: the OpenAPI document and the JSON Schemas."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from infra.api.documentation import generated_files


class Command(BaseCommand):
    """Writes docs/openapi.yaml and docs/schemas, or says that they are out of date."""

    help = "Writes docs/openapi.yaml and docs/schemas/*.json from the code."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="only say whether they are current"
        )

    def handle(self, *, check: bool, **_options: object) -> None:
        docs = Path(settings.BASE_DIR) / "docs"
        files = generated_files()
        old = [name for name, text in files.items() if _read(docs / name) != text]
        if check and old:
            raise CommandError(f"Out of date: {', '.join(old)}. Run: ./manage.py openapi")
        for name in old:
            path = docs / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[name])
            self.stdout.write(f"wrote {path}")


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
