"""`infra image upload`: a file becomes an image in the installation's own store."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

import typer

from infra.cli.commands.creating import resource_body
from infra.cli.failures import usage
from infra.cli.kinds import BY_NAME
from infra.cli.manner import Manner, changing
from infra.cli.options import LabelsOption, OwnerOption
from infra.cli.session import session_of
from infra.cli.words import size
from infra.cli.writing import Change, send, tell

app = typer.Typer(help="Bring images into the installation's store.", no_args_is_help=True)
IMAGE = BY_NAME["image"]

QCOW2_MAGIC = b"QFI\xfb"
READ_BYTES = 1 << 20


@app.command("upload")
@changing
def upload(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", exists=True, dir_okay=False)],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What to call the image.")],
    *,
    kind: Annotated[
        str, typer.Option("--format", metavar="raw|qcow2", help="Else seen from its first bytes.")
    ] = "",
    min_disk: Annotated[int, typer.Option("--min-disk-gib", min=1, metavar="GIB")] = 1,
    labels: LabelsOption = None,
    owner: OwnerOption = "",
    manner: Manner,
) -> None:
    """Upload a file and declare it as an image, named by its content."""
    session = session_of(context)
    digest, count = digest_of(file)
    if not count:
        raise usage(f"{file} is empty.")
    spec = {
        "sha256": digest,
        "format": kind or format_of(file),
        "size_bytes": count,
        "min_disk_gib": min_disk,
    }
    with session.api() as api:
        if not manner.dry_run:
            with session.output.progress() as show:
                api.upload(
                    f"images/store/{digest}",
                    file,
                    progress=lambda sent: show(progress_line(file, sent, count)),
                )
        change = Change("POST", IMAGE.path, resource_body(name, spec, labels, owner, ""))
        tell(session, api, IMAGE, send(api, change, manner), manner)


def digest_of(file: Path) -> tuple[str, int]:
    """Return the SHA-256 of a file in hex, and its size in bytes."""
    digest, count = hashlib.sha256(), 0
    with file.open("rb") as opened:
        while part := opened.read(READ_BYTES):
            digest.update(part)
            count += len(part)
    return digest.hexdigest(), count


def format_of(file: Path) -> str:
    """Return `qcow2` for a file that begins like one, else `raw`."""
    with file.open("rb") as opened:
        return "qcow2" if opened.read(len(QCOW2_MAGIC)) == QCOW2_MAGIC else "raw"


def progress_line(file: Path, sent: int, count: int) -> str:
    """Return how far an upload is, in steps of ten per cent (pure)."""
    tenths = sent * 10 // count
    return f"Uploading {file.name} ({size(count)}): {tenths * 10} %"
