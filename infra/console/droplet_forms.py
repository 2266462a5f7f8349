"""A droplet as it is typed into the form, and as the intent takes it. Pure but for parsing."""

from __future__ import annotations

from collections.abc import Mapping

from django.http import QueryDict

from infra.console.inputs import labels_of
from inventory.specs import DropletSpec
from inventory.specs.base import parse_spec
from operations.intents.resources import Metadata

DEFAULTS: Mapping[str, str] = {
    "vcpus": "1",
    "memory_mib": "512",
    "disk_gib": "1",
    "power": "running",
    "stop_grace_seconds": "60",
}

Document = dict[str, object]


def metadata_of(post: QueryDict) -> Metadata:
    """Return what is said of the droplet beside its spec."""
    return Metadata(
        name=post.get("name", "").replace("\x00", ""),
        owner=post.get("owner") or None,
        zone=post.get("zone") or None,
        labels=labels_of(post.get("labels", "")),
        protected=bool(post.get("protected")),
    )


def document_of(post: QueryDict) -> Document:
    """Return the spec's document as typed; an empty size is what the spec says by itself."""
    document: Document = {"image": post.get("image", "")}
    for name in ("vcpus", "memory_mib", "disk_gib"):
        text = post.get(name, "")
        if text.strip():
            document[name] = _number(text)
    document["power"] = post.get("power", "running")
    document["ssh_keys"] = post.getlist("ssh_keys")
    user_data = post.get("user_data", "")
    if user_data.strip():
        document["user_data"] = user_data.replace("\r\n", "\n")
    stop = _stop(post)
    if stop:
        document["stop"] = stop
    affinity = _affinity(post)
    if affinity:
        document["affinity"] = affinity
    return document


def _number(text: str) -> object:
    digits = text.strip()
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else digits  # noqa: PLR2004


def _stop(post: QueryDict) -> Document:
    stop: Document = {}
    grace = post.get("stop_grace_seconds", "").strip()
    if grace and grace != DEFAULTS["stop_grace_seconds"]:
        stop["grace_seconds"] = _number(grace)
    if post.get("stop_force"):
        stop["force"] = True
    return stop


def _affinity(post: QueryDict) -> list[Document]:
    labels = labels_of(post.get("affinity_labels", ""))
    if not labels:
        return []
    mode = post.get("affinity_mode", "apart")
    return [{"mode": mode, "scope": post.get("affinity_scope", "node"), "labels": labels}]


def spec_of(post: QueryDict) -> DropletSpec:
    """Return the spec. Raises Invalid."""
    return parse_spec(DropletSpec, document_of(post))
