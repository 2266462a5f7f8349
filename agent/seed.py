"""Writes the seed a guest reads at its first start: a small disk labelled `cidata` (NoCloud).

An ISO 9660 image with Rock Ridge names, so that a guest sees `meta-data` and `user-data` as they
are spelled. The node needs no program for it.
"""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path

from pycdlib import PyCdlib

LABEL = "cidata"


def meta_data(*, instance_id: str, hostname: str, ssh_keys: Sequence[str] = ()) -> str:
    """Return the `meta-data` of a guest: YAML with every string quoted.

    A new `instance_id` makes cloud-init treat the next start as a first one.
    """
    lines = [
        f"instance-id: {_quoted(instance_id)}",
        f"local-hostname: {_quoted(hostname)}",
    ]
    if ssh_keys:
        lines.append("public-keys:")
        lines.extend(f"  - {_quoted(key.strip())}" for key in ssh_keys)
    return "\n".join(lines) + "\n"


def seed_bytes(*, meta_data: str, user_data: str, network_config: str | None = None) -> bytes:
    """Return the image that holds these files. `user-data` is there even when it is empty."""
    contents = {"meta-data": meta_data, "user-data": user_data}
    if network_config is not None:
        contents["network-config"] = network_config
    image = PyCdlib()
    image.new(interchange_level=3, rock_ridge="1.09", vol_ident=LABEL)
    for name, text in contents.items():
        data = text.encode()
        plain = name.upper().replace("-", "_")
        image.add_fp(io.BytesIO(data), len(data), f"/{plain}.;1", rr_name=name)
    written = io.BytesIO()
    image.write_fp(written)
    image.close()
    return written.getvalue()


def write_seed(
    path: Path, *, meta_data: str, user_data: str, network_config: str | None = None
) -> None:
    """Write the seed to `path` in one step, readable by its owner only: user data may be secret.

    A guest that has the old file open goes on reading the old file.
    """
    data = seed_bytes(meta_data=meta_data, user_data=user_data, network_config=network_config)
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _quoted(text: str) -> str:
    """Return a YAML string that says exactly this, whatever characters are in it."""
    plain = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return f'"{"".join(plain)}"'
