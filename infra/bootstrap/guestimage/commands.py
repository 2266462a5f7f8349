"""Runs the programs that images are made with."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from infra.bootstrap.guestimage.image import BuildFailed, BuiltImage, describe

Say = Callable[[str], None]
"""Takes one line of progress for the person who waits."""

LIMIT_SECONDS = 1800.0
"""Nothing here takes that long; what does is stuck (a mirror that stopped in mid-file)."""


def run(
    *command: str | Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    limit_seconds: float = LIMIT_SECONDS,
) -> str:
    """Return what the program wrote. Raises BuildFailed with the end of its errors."""
    words: Sequence[str] = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", **(env or {})},
            cwd=cwd,
            timeout=limit_seconds,
            check=False,
        )
    except FileNotFoundError as error:
        raise BuildFailed(f"{words[0]} is not installed.") from error
    except subprocess.TimeoutExpired as error:
        raise BuildFailed(f"{words[0]} did not end within {limit_seconds:.0f} s.") from error
    if done.returncode != 0:
        said = " / ".join((done.stderr or done.stdout).strip().splitlines()[-5:])
        raise BuildFailed(f"{words[0]} ended with {done.returncode}: {said}")
    return done.stdout


def finish(disk: Path, out: Path, *, options: Sequence[str] = ()) -> BuiltImage:
    """Turn the raw disk into the qcow2 file `out`, which is there whole or not at all."""
    out.parent.mkdir(parents=True, exist_ok=True)
    fresh = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        run("qemu-img", "convert", "-f", "raw", "-O", "qcow2", *options, disk, fresh)
        fresh.replace(out)
    finally:
        fresh.unlink(missing_ok=True)
    return describe(out, virtual_size_bytes=disk.stat().st_size, image_format="qcow2")
