"""What a form is about to do, as a person could write it: YAML, command line, curl. Pure."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from inventory.models import Resource
from inventory.specs import SPECS

API_VERSION = "infra/v1"
KINDS: Mapping[str, str] = {"droplet": "Droplet", "image": "Image", "sshkey": "SshKey"}
COLLECTIONS: Mapping[str, str] = {"droplet": "droplets", "image": "images", "sshkey": "sshkeys"}

Document = dict[str, object]


@dataclass(frozen=True, slots=True)
class Declared:
    """One declaration in three ways of writing."""

    yaml: str
    command: str
    curl: str


def manifest(kind: str, metadata: Mapping[str, object], spec: Mapping[str, object]) -> Document:
    """Return the manifest; what is empty is left out, since empty is what it would be anyway."""
    return {
        "apiVersion": API_VERSION,
        "kind": KINDS[kind],
        "metadata": {name: value for name, value in metadata.items() if value},
        "spec": {name: value for name, value in spec.items() if value not in ("", [], {}, None)},
    }


def manifest_of(resource: Resource) -> Document:
    """Return the manifest of a declared resource."""
    metadata = {
        "name": resource.name,
        "owner": resource.owner.name,
        "zone": resource.zone.name if resource.zone else "",
        "labels": resource.labels,
        "protected": resource.protected,
    }
    spec = SPECS[resource.kind].model_validate(resource.spec)
    return manifest(resource.kind, metadata, spec.model_dump(mode="json"))


def to_yaml(document: Document) -> str:
    """Return a document as YAML in the order it was made."""
    return yaml.safe_dump(document, sort_keys=False, allow_unicode=True, default_flow_style=False)


def declared(
    kind: str, metadata: Mapping[str, object], spec: Mapping[str, object], *, address: str
) -> Declared:
    """Return what creating it says. `address` is where the control plane answers."""
    document = manifest(kind, metadata, spec)
    body = {**_part(document, "metadata"), "spec": document["spec"]}
    return Declared(
        yaml=to_yaml(document),
        command=f"infra apply -f - <<'END'\n{to_yaml(document)}END\n",
        curl=_curl("POST", f"{address}/api/v1/{COLLECTIONS[kind]}", body),
    )


def _part(document: Document, name: str) -> Document:
    part = document[name]
    return dict(part) if isinstance(part, dict) else {}


def _curl(method: str, url: str, body: Document) -> str:
    text = json.dumps(body, ensure_ascii=False, indent=2)
    lines = [
        f"curl -X {method} {shlex.quote(url)}",
        '-H "Authorization: Bearer $INFRA_TOKEN"',
        "-H 'Content-Type: application/json'",
        '-H "Idempotency-Key: $(uuidgen)"',
        f"-d {shlex.quote(text)}",
    ]
    return " \\\n  ".join(lines) + "\n"
