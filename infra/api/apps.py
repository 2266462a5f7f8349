"""Registers the API's own records with Django."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """HTTP into intents and queries, and back."""

    name = "infra.api"
    label = "api"
