"""Keeps the verdict of the probe for as long as what it was found on stays the same."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import asdict, dataclass
from pathlib import Path

from agent.acceleration.probe import LIMIT_SECONDS, probe
from agent.acceleration.verdict import Acceleration, Kind

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
VERSION_LIMIT_SECONDS = 5.0


@dataclass(frozen=True)
class Ground:
    """What a verdict stands on; when any of it changes, the probe runs again."""

    kernel_release: str
    emulator_version: str
    boot_id: str


def cached_probe(
    path: Path, emulator: str, *, limit_seconds: float = LIMIT_SECONDS
) -> Acceleration:
    """Return the verdict kept in `path` if its ground is unchanged, else probe and keep it.

    A verdict of `none` is not kept: its cause (a missing emulator, a machine too busy) may pass.
    """
    ground = read_ground(emulator)
    if ground is None:
        return probe(emulator, limit_seconds=limit_seconds)
    kept = recall(_read(path), ground)
    if kept is not None:
        return kept
    found = probe(emulator, limit_seconds=limit_seconds)
    if found.kind is not Kind.NONE:
        _write(path, remember(found, ground))
    return found


def read_ground(emulator: str) -> Ground | None:
    """Return what a verdict would stand on now; None if the emulator does not name its version."""
    try:
        answer = subprocess.run(
            [emulator, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_LIMIT_SECONDS,
            check=True,
        )
        boot_id = BOOT_ID.read_text().strip()
    except (OSError, subprocess.SubprocessError):
        return None
    version = answer.stdout.decode(errors="replace").partition("\n")[0].strip()
    return Ground(os.uname().release, version, boot_id) if version else None


def remember(found: Acceleration, ground: Ground) -> str:
    """Return the text to keep for this verdict on this ground."""
    return json.dumps({"ground": asdict(ground), "found": asdict(found)}, indent=1)


def recall(text: str, ground: Ground) -> Acceleration | None:
    """Return the verdict in `text`, or None if it is unreadable or stands on other ground."""
    try:
        kept = json.loads(text)
        if kept["ground"] != asdict(ground):
            return None
        found = kept["found"]
        return Acceleration(Kind(found["kind"]), str(found["evidence"]), float(found["seconds"]))
    except (ValueError, KeyError, TypeError):
        return None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.write_text(text)
    fresh.replace(path)
