"""How the OpenAPI document is made from pydantic shapes, and what all operations share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, cast

from drf_spectacular.drainage import set_override
from drf_spectacular.extensions import (
    OpenApiAuthenticationExtension,
    OpenApiSerializerExtension,
)
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from infra.api.errors import PROBLEM_TYPE, Problem

Node = dict[str, object]
WRITES = frozenset({"post", "put", "patch", "delete"})
STORE_PATH, EVENTS_PATH = "/api/v1/images/store/{sha256}", "/api/v1/events"
STORED: Node = {
    "type": "object",
    "properties": {"sha256": {"type": "string"}, "size_bytes": {"type": "integer"}},
    "required": ["sha256", "size_bytes"],
}
BESIDE = frozenset({STORE_PATH, EVENTS_PATH})
CONDITIONAL = frozenset({"put", "patch", "delete"})


class Schema(AutoSchema):
    """Names operations by method and address, so that no two share a name."""

    def get_operation_id(self) -> str:
        parts = self.path.removeprefix("/api/v1/").replace("{", "").replace("}", "").split("/")
        return "_".join([self.method.lower(), *parts])

    def get_tags(self) -> list[str]:
        return [self.path.removeprefix("/api/v1/").split("/")[0]]


class PydanticShapes(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Shapes as components; what is taken and what is answered have schemas of their own."""

    target_class = "pydantic.BaseModel"
    match_subclasses = True
    priority = 1

    def get_name(self, auto_schema: object, direction: str) -> str:
        del auto_schema, direction
        # The parts of a shape are registered by name before the shape itself may be.
        set_override(self.target, "suppress_collision_warning", True)  # noqa: FBT003
        return cast(type[BaseModel], self.target).__name__

    def map_serializer(self, auto_schema: AutoSchema, direction: str) -> Node:
        taken = direction == "request"
        shape = cast(type[BaseModel], self.target)
        suffix = "Request" if taken else ""
        mode: Literal["validation", "serialization"] = "validation" if taken else "serialization"
        _, schema = models_json_schema(
            [(shape, mode)],
            ref_template=f"#/components/schemas/{{model}}{suffix}",
        )
        parts = cast(dict[str, Node], schema.get("$defs", {}))
        own = parts.pop(shape.__name__)
        for name, part in parts.items():
            component = ResolvedComponent(  # type: ignore[no-untyped-call]
                name=name + suffix,
                type=ResolvedComponent.SCHEMA,
                object=name + suffix,
                schema=part,
            )
            auto_schema.registry.register_on_missing(component)
        return own


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """API tokens."""

    target_class = "infra.api.authentication.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: object) -> Node:
        del auto_schema
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "infra_<prefix>_<secret>",
        }


def complete(result: Node, generator: object, **_: object) -> Node:
    """Add to every operation what all have: problem documents, and the parameters of writes."""
    del generator
    components = cast(dict[str, Node], result.setdefault("components", {}))
    schemas = components.setdefault("schemas", {})
    cookie = cast(Node, components.get("securitySchemes", {}).get("cookieAuth"))
    if cookie:
        # Installations on one machine share a host name, so each has a cookie of its own.
        cookie["name"] = "infra_session_<port>"
    schemas.update(_problem_schemas())
    cast(dict[str, Node], result["paths"]).update(_beside_django())
    for path, method, operation in _operations(result):
        responses = cast(Node, operation.setdefault("responses", {}))
        responses["default"] = {
            "description": "A refusal; nothing was changed.",
            "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        if method in WRITES and path not in BESIDE:
            parameters = cast(list[Node], operation.setdefault("parameters", []))
            parameters.extend(_write_parameters(method))
            _add_dry_answer(responses)
    return result


def _add_dry_answer(responses: Node) -> None:
    """Say that a dry run, and `Prefer: wait` once all has ended, answer 200 with the same."""
    accepted = cast(Node, responses.get("202") or responses.get("201"))
    if not accepted:
        return
    schema = _schema_of(accepted)
    known = cast(Node, responses.get("200"))
    whole = {"anyOf": [schema, _schema_of(known)]} if known else schema
    responses["200"] = {
        "description": "A dry run, or done already.",
        "content": {"application/json": {"schema": whole}},
    }


def _schema_of(response: Node) -> Node:
    content = cast(dict[str, dict[str, Node]], response["content"])
    return content["application/json"]["schema"]


def _operations(result: Node) -> Iterator[tuple[str, str, Node]]:
    for path, operations in cast(dict[str, dict[str, Node]], result["paths"]).items():
        for method, operation in operations.items():
            yield path, method, operation


def _beside_django() -> dict[str, Node]:
    """Return what is answered without REST framework: the stream, and bytes into the store."""
    digest: Node = {
        "in": "path",
        "name": "sha256",
        "required": True,
        "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
    }
    content: Node = {"application/octet-stream": {"schema": {"type": "string"}}}
    return {
        STORE_PATH: {
            "put": {
                "operationId": "put_images_store",
                "description": "Bring the bytes of an image; kept only if their digest is right.",
                "parameters": [digest],
                "requestBody": {"required": True, "content": content},
                "tags": ["images"],
                "security": [{"token": []}],
                "responses": {"201": _answer("Kept.", STORED), "200": _answer("There.", STORED)},
            }
        },
        EVENTS_PATH: {
            "get": {
                "operationId": "get_events",
                "description": "Follow changes as server-sent events, from `Last-Event-ID` on.",
                "parameters": [
                    _repeated("topic", "only about these: `operation`, `resource`, `node`, `zone`"),
                    _repeated("object_id", "only about the objects with these ids"),
                ],
                "tags": ["events"],
                "security": [{"token": []}, {"cookieAuth": []}],
                "responses": {
                    "200": {
                        "description": "The stream.",
                        "content": {"text/event-stream": {"schema": {"type": "string"}}},
                    }
                },
            }
        },
    }


def _answer(says: str, schema: Node) -> Node:
    return {"description": says, "content": {"application/json": {"schema": schema}}}


def _repeated(name: str, says: str) -> Node:
    schema: Node = {"type": "array", "items": {"type": "string"}, "maxItems": 100}
    return {"in": "query", "name": name, "schema": schema, "description": says}


def _problem_schemas() -> Node:
    _, schema = models_json_schema(
        [(Problem, "serialization")], ref_template="#/components/schemas/{model}"
    )
    return cast(Node, schema["$defs"])


def _write_parameters(method: str) -> list[Node]:
    shared: list[Node] = [
        {
            "in": "query",
            "name": "dry_run",
            "schema": {"type": "boolean", "default": False},
            "description": "check everything, change nothing",
        },
        {
            "in": "query",
            "name": "reason",
            "schema": {"type": "string", "maxLength": 500},
            "description": "why; kept with the operation and in the audit journal",
        },
        {
            "in": "header",
            "name": "Idempotency-Key",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$"},
            "description": "the same key again gets the same answer, and nothing is done twice",
        },
    ]
    if method in CONDITIONAL:
        shared.append(
            {
                "in": "header",
                "name": "If-Match",
                "schema": {"type": "string", "pattern": '^(\\*|"[0-9]{1,18}(\\.[0-9a-f]+)?")$'},
                "description": "the ETag that was read: 412 when it has changed since",
            }
        )
    return shared
