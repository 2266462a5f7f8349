"""Registers the inventory with Django."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    """Nouns: what is wanted and what was seen."""

    name = "inventory"
    verbose_name = "Inventory"
    default_auto_field = "django.db.models.BigAutoField"
