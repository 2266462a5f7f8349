"""Registers the console with Django."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Server-rendered pages over intents and queries."""

    name = "infra.console"
    label = "console"
