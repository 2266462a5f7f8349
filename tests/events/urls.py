"""Only the stream, behind the whole middleware of the product."""

from django.urls import path

from infra.events import console_events

urlpatterns = [path("events", console_events)]
