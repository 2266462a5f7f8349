"""Manifests: apply, plan, diff."""

from __future__ import annotations

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.request import Request

from infra.api.answers import Answer
from infra.api.bodies import Malformed, check_storable
from infra.api.described import described
from infra.api.endpoint import JSON_TYPES, Endpoint, parse_body
from infra.api.shapes.manifests import ManifestsBody, PlanShape, show_plan
from infra.api.shapes.operations import AcceptedOperation
from infra.api.views.operations import accepted
from inventory.errors import FieldError, Invalid
from operations.intents.call import Call
from operations.manifests.applying import apply_manifest, check_manifest, plan_manifest
from operations.manifests.documents import Placed, read_documents, read_yaml

YAML_TYPES = frozenset({"application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml"})
WRAPPED = "/manifests"


class Manifests(Endpoint):
    """Base of what takes manifests."""

    body_types = JSON_TYPES | YAML_TYPES
    root = ""

    def documents(self) -> list[Placed]:
        """Return the documents of the body. Raises Malformed, Invalid, RequestRefused."""
        raw: object = self._yaml() if self._is_yaml() else self.document()
        if isinstance(raw, dict):
            raw = parse_body(ManifestsBody, raw).manifests
            self.root = WRAPPED
        return read_documents(raw if isinstance(raw, list) else [raw])

    def _is_yaml(self) -> bool:
        return (self.request.content_type or "").partition(";")[0].strip().lower() in YAML_TYPES

    def _yaml(self) -> list[object]:
        try:
            documents = read_yaml(self.raw_body.decode())
        except UnicodeDecodeError:
            raise Malformed("The body is not UTF-8.") from None
        check_storable(documents)
        return documents

    def handle_exception(self, exc: Exception) -> HttpResponse:  # type: ignore[override]
        """Return the problem document, with pointers into the body as it was sent."""
        if isinstance(exc, Invalid) and self.root:
            errors = [
                FieldError(self._placed(each.pointer), each.code, each.message)
                for each in exc.errors
            ]
            exc = Invalid(tuple(errors))
        return super().handle_exception(exc)

    def _placed(self, pointer: str) -> str:
        return pointer if pointer.startswith(WRAPPED) else self.root + pointer


class Apply(Manifests):
    """Applying."""

    @described(
        AcceptedOperation, body=ManifestsBody, status=202, other={200: PlanShape}, waits=True
    )
    def post(self, request: Request) -> HttpResponseBase:
        """Declare all documents that differ, in one transaction, under one operation.

        200 with the plan when nothing differs.
        """
        del request
        documents = self.documents()

        def act(call: Call) -> Answer:
            applied = apply_manifest(call, documents)
            if applied.operation is None:
                return Answer(show_plan(applied.planned))
            return accepted(applied.operation)

        return self.write(act)


class Plan(Manifests):
    """Planning."""

    @described(PlanShape, body=ManifestsBody)
    def post(self, request: Request) -> HttpResponseBase:
        """Say what applying would do, after trying it; change nothing."""
        del request
        documents = self.documents()
        return self.write(lambda call: Answer(show_plan(check_manifest(call, documents))))


class Diff(Manifests):
    """Comparing."""

    @described(PlanShape, body=ManifestsBody)
    def post(self, request: Request) -> HttpResponseBase:
        """Say how the documents differ from what is declared; needs no right to change it."""
        del request
        return self.read(Answer(show_plan(plan_manifest(self.actor, self.documents()))))
