"""Registers operations with Django."""

from django.apps import AppConfig


class OperationsConfig(AppConfig):
    """Verbs: how wanted becomes true."""

    name = "operations"
    verbose_name = "Operations"
    default_auto_field = "django.db.models.BigAutoField"
