"""The console: server-rendered pages over intents and queries."""

from django.apps import AppConfig


class ConsoleConfig(AppConfig):
    """Registers templates tags and static files. The console has no rows of its own."""

    name = "infra.console"
    label = "console"
    verbose_name = "Console"
