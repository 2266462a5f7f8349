"""The web process: HTTP to Django."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "infra.settings")

from django.core.asgi import get_asgi_application

application = get_asgi_application()
