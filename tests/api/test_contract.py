"""Generated requests, as the kept OpenAPI document allows and forbids them, against the API."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import pytest
import schemathesis
import yaml
from django.conf import settings as django_settings
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from infra.api.openapi import BESIDE
from tests.api.client import token_of

EXAMPLES = 8
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DOCUMENT = Path(django_settings.BASE_DIR) / "docs" / "openapi.yaml"


@pytest.fixture
def world(admin, droplet_factory, node_factory, tmp_path, settings):
    settings.ENVIRONMENT = settings.ENVIRONMENT.model_copy(update={"data_dir": tmp_path})
    node_factory("n1")
    droplet_factory("hello")
    # As Django's own test client does: the connection holds this test's transaction.
    with kept_open(request_started), kept_open(request_finished):
        yield token_of(admin)


@contextmanager
def kept_open(signal):
    signal.disconnect(close_old_connections)
    yield
    signal.connect(close_old_connections)


schema = schemathesis.openapi.from_dict(yaml.safe_load(DOCUMENT.read_text()))
schema.app = get_wsgi_application()
schema = schema.exclude(path=sorted(BESIDE))  # not Django's: a stream without end, and the store


@schema.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_the_api_keeps_its_contract(case, world):
    answer = case.call(headers={"Authorization": f"Bearer {world}"})
    case.validate_response(answer, checks=CHECKS)
