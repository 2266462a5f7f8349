"""JSON Schemas of manifests, made from the same shapes that check them, for editors."""

from __future__ import annotations

from collections.abc import Mapping

from operations.manifests.documents import API_VERSION, ManifestDocument
from operations.manifests.kinds import KINDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def manifest_schemas() -> Mapping[str, dict[str, object]]:
    """Return the schema of a manifest document of each kind."""
    return {kind: _schema(kind) for kind in KINDS}


def _schema(kind: str) -> dict[str, object]:
    whole = ManifestDocument.model_json_schema()
    spec = KINDS[kind].spec.model_json_schema()
    parts = {**whole.pop("$defs", {}), **spec.pop("$defs", {})}
    has_required = bool(spec.get("required"))
    whole["properties"]["apiVersion"] = {"const": API_VERSION}
    whole["properties"]["kind"] = {"const": kind}
    whole["properties"]["spec"] = spec
    whole["required"] = ["apiVersion", "kind", "metadata", *(["spec"] if has_required else [])]
    return {
        "$schema": DIALECT,
        **whole,
        "title": kind,
        "description": f"A manifest that declares one {kind}.",
        "$defs": parts,
    }
