"""Registers the project itself with Django, for its management commands."""

from django.apps import AppConfig


class InfraConfig(AppConfig):
    """The project."""

    name = "infra"
