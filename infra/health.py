"""Whether this process can do its work: for the start-up, load balancers and monitors."""

from __future__ import annotations

from http import HTTPStatus

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe


@never_cache
@require_safe
def alive(_request: HttpRequest) -> JsonResponse:
    """Answer 200 while the process answers at all."""
    return JsonResponse({"process": "alive"})


@never_cache
@require_safe
def health(_request: HttpRequest) -> JsonResponse:
    """Answer 200 when the database answers, else 503. Says nothing that needs a permission."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"database": "unreachable"}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return JsonResponse({"database": "reachable"})
