"""The API's own documentation: the OpenAPI document, and pages to read and try it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

import yaml
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.views import SpectacularSwaggerSplitView

from operations.manifests.schemas import manifest_schemas

OPENAPI_TYPE = "application/vnd.oai.openapi+json"
Document = dict[str, object]


def openapi_document() -> Document:
    """Return the OpenAPI document of the API, made from the endpoints."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return cast(Document, generator.get_schema(request=None, public=True))  # type: ignore[no-untyped-call]


def generated_files() -> Mapping[str, str]:
    """Return what is kept below `docs/` and made from the code: text by file name."""
    document = json.loads(json.dumps(openapi_document(), default=str))
    files = {
        "openapi.yaml": yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=100)
    }
    for kind, schema in manifest_schemas().items():
        files[f"schemas/{kind.lower()}.json"] = (
            json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        )
    return files


@require_safe
def openapi_json(request: HttpRequest) -> HttpResponseBase:
    """Answer the OpenAPI document; it holds no secrets, so everybody may read it."""
    del request
    content = OpenApiJsonRenderer().render(openapi_document(), renderer_context={})
    return HttpResponse(content, content_type=OPENAPI_TYPE)


class Pages(SpectacularSwaggerSplitView):
    """The document as pages. Script and style are files of their own, so the strict CSP holds."""

    template_name = "api/docs.html"

    authentication_classes: list[type] = []
    permission_classes: list[type] = []
    url_name = "api:openapi"
