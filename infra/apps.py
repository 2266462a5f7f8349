"""Registers the project itself with Django, for its management commands."""

from importlib import import_module

from django.apps import AppConfig


class InfraConfig(AppConfig):
    """The project."""

    name = "infra"

    def ready(self) -> None:
        """Make our queue the one that every process sends its wake-ups to."""
        import_module("infra.celery")
