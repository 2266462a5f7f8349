"""The web process: HTTP to Django, WebSockets to the serial consoles."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "infra.settings")

from django.core.asgi import get_asgi_application

django_application = get_asgi_application()

from infra.web import Web  # noqa: E402  needs the apps, which the line above has loaded

application = Web(django_application)
