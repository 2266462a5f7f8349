"""Pages for what went wrong, with the request id. Addresses under /api/ get a problem document."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render

from infra.console.doors import request_id


def _answer(request: HttpRequest, status: HTTPStatus, template: str) -> HttpResponse:
    if request.path.startswith("/api/"):
        problem = {"type": "about:blank", "title": status.phrase, "status": status.value}
        return JsonResponse(
            problem | {"request_id": request_id()},
            status=status,
            content_type="application/problem+json",
        )
    return render(request, template, {"request_id": request_id()}, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for 400."""
    del exception
    return _answer(request, HTTPStatus.BAD_REQUEST, "400.html")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for 403."""
    del exception
    return _answer(request, HTTPStatus.FORBIDDEN, "403.html")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for 404."""
    del exception
    return _answer(request, HTTPStatus.NOT_FOUND, "404.html")


def broken(request: HttpRequest) -> HttpResponse:
    """Return the page for 500."""
    return _answer(request, HTTPStatus.INTERNAL_SERVER_ERROR, "500.html")


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a form whose token does not fit."""
    del reason
    return _answer(request, HTTPStatus.FORBIDDEN, "403_csrf.html")
