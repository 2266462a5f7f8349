"""How a state looks and reads: a tone, a drawing and a word. Pure. Colour never speaks alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class Look:
    """One of five tones (ok, busy, warn, bad, idle), an icon of the sprite, and the word shown."""

    tone: str
    icon: str
    word: str
    turning: bool = False


_LOOKS: Mapping[str, Look] = MappingProxyType(
    {
        # operations
        "queued": Look("idle", "circle-dashed", "queued"),
        "reconciling": Look("warn", "circle-half-2", "reconciling"),
        "succeeded": Look("ok", "circle-check", "succeeded"),
        "failed": Look("bad", "circle-x", "failed"),
        "cancelled": Look("idle", "ban", "cancelled"),
        # steps
        "unsent": Look("idle", "circle-dashed", "not sent yet"),
        "sent": Look("busy", "upload", "sent"),
        "acknowledged": Look("busy", "loader-2", "at work", turning=True),
        "unknown": Look("warn", "circle-half-2", "outcome unknown"),
        "done": Look("ok", "circle-check", "done"),
        "refused": Look("bad", "circle-x", "refused"),
        # droplets
        "running": Look("ok", "player-play", "running"),
        "stopped": Look("idle", "player-pause", "stopped"),
        "waiting": Look("warn", "clock", "waiting for room"),
        "changing": Look("busy", "loader-2", "changing", turning=True),
        "differs": Look("warn", "alert-triangle", "differs"),
        "unseen": Look("warn", "plug-connected-x", "not seen"),
        "deleting": Look("busy", "trash", "being deleted"),
        "deleted": Look("idle", "trash", "deleted"),
        "crashed": Look("bad", "circle-x", "crashed"),
        "paused": Look("warn", "player-pause", "paused"),
        # nodes
        "joining": Look("busy", "login-2", "joining"),
        "ready": Look("ok", "circle-check", "ready"),
        "draining": Look("busy", "loader-2", "draining", turning=True),
        "drained": Look("idle", "circle-minus", "drained"),
        "leaving": Look("busy", "logout", "leaving"),
        "left": Look("idle", "logout", "left"),
        "unreachable": Look("warn", "plug-connected-x", "unreachable"),
        "compute-unavailable": Look("warn", "alert-triangle", "cannot run guests"),
    }
)

_OPERATION_RUNNING = Look("busy", "loader-2", "running", turning=True)


def look_of(state: str, *, of: str = "") -> Look:
    """Return how a state is shown. `of="operation"` tells a running operation from a droplet's."""
    if state == "running" and of == "operation":
        return _OPERATION_RUNNING
    return _LOOKS.get(state, Look("idle", "circle", state.replace("_", " ") or "unknown"))
