"""`infra create`: one object from the command line, without a manifest."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from infra.cli import clock
from infra.cli.documents import Document, text
from infra.cli.failures import usage
from infra.cli.kinds import BY_NAME
from infra.cli.manner import Manner, changing
from infra.cli.options import LabelsOption, NewNameArgument, OwnerOption, ZoneOption
from infra.cli.printing import Format, print_object
from infra.cli.session import session_of
from infra.cli.sizes import sizes_body
from infra.cli.writing import Change, carry_out, parse_labels, send

app = typer.Typer(help="Create one object from the command line.", no_args_is_help=True)

ProtectedOption = Annotated[
    bool, typer.Option("--protected", help="Refuse to delete it until that is lifted.")
]


@app.command("droplet")
@changing
def droplet(  # noqa: PLR0913  one parameter for each option
    context: typer.Context,
    name: NewNameArgument,
    image: Annotated[str, typer.Option("--image", metavar="IMAGE", help="What it starts from.")],
    *,
    vcpus: Annotated[int | None, typer.Option("--vcpus", min=1, metavar="COUNT")] = None,
    memory: Annotated[
        str, typer.Option("--memory", metavar="SIZE", help="Such as 512M or 2G.")
    ] = "",
    disk: Annotated[str, typer.Option("--disk", metavar="SIZE", help="Such as 10G.")] = "",
    keys: Annotated[
        list[str] | None,
        typer.Option("--ssh-key", metavar="SSHKEY", help="Let this key in; may be repeated."),
    ] = None,
    user_data: Annotated[
        Path | None,
        typer.Option("--user-data", metavar="FILE", help="For cloud-init.", dir_okay=False),
    ] = None,
    stopped: Annotated[bool, typer.Option("--stopped", help="Do not start it yet.")] = False,
    protected: ProtectedOption = False,
    labels: LabelsOption = None,
    owner: OwnerOption = "",
    zone: ZoneOption = "",
    manner: Manner,
) -> None:
    """Declare a droplet."""
    spec: dict[str, object] = {"image": image, **sizes_body(vcpus, memory, disk)}
    if keys:
        spec["ssh_keys"] = keys
    if user_data:
        spec["user_data"] = read_text(user_data)
    if stopped:
        spec["power"] = "stopped"
    body = resource_body(name, spec, labels, owner, zone, protected=protected)
    _create(context, "droplet", body, manner)


@app.command("image")
@changing
def image(  # noqa: PLR0913  one parameter for each option
    context: typer.Context,
    name: NewNameArgument,
    sha256: Annotated[str, typer.Option("--sha256", metavar="HEX", help="Of its bytes.")],
    size: Annotated[int, typer.Option("--size-bytes", min=1, metavar="COUNT")],
    *,
    kind: Annotated[str, typer.Option("--format", metavar="raw|qcow2")] = "qcow2",
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="Where nodes get it; else the store.")
    ] = "",
    min_disk: Annotated[int, typer.Option("--min-disk-gib", min=1, metavar="GIB")] = 1,
    labels: LabelsOption = None,
    owner: OwnerOption = "",
    manner: Manner,
) -> None:
    """Declare an image that nodes fetch from an address; see `infra image upload` for files."""
    spec = {
        "sha256": sha256,
        "format": kind,
        "size_bytes": size,
        "min_disk_gib": min_disk,
        "url": url,
    }
    _create(context, "image", resource_body(name, spec, labels, owner, ""), manner)


@app.command("sshkey")
@changing
def sshkey(
    context: typer.Context,
    name: NewNameArgument,
    file: Annotated[
        Path,
        typer.Option("--file", "-f", metavar="FILE", help="The public key; - is the input."),
    ],
    *,
    labels: LabelsOption = None,
    owner: OwnerOption = "",
    manner: Manner,
) -> None:
    """Declare an SSH public key."""
    line = read_text(file).strip()
    if "PRIVATE KEY" in line:
        raise usage(f"{file} is a private key; it was not sent.", advice="Name the .pub file.")
    spec = {"public_key": line}
    _create(context, "sshkey", resource_body(name, spec, labels, owner, ""), manner)


@app.command("zone")
@changing
def zone(
    context: typer.Context,
    name: NewNameArgument,
    *,
    parent: Annotated[str, typer.Option("--parent", metavar="ZONE", help="It is part of.")] = "",
    kind: Annotated[
        str, typer.Option("--kind", metavar="WORD", help="For people: rack, room, region.")
    ] = "",
    jurisdiction: Annotated[
        str, typer.Option("--jurisdiction", metavar="CODE", help="Else its parent's.")
    ] = "",
    labels: LabelsOption = None,
    manner: Manner,
) -> None:
    """Draw a zone."""
    body: dict[str, object] = {"name": name, "labels": parse_labels(labels)}
    told = {"parent": parent, "kind_label": kind, "jurisdiction": jurisdiction}
    body.update({key: value for key, value in told.items() if value})
    _create(context, "zone", body, manner)


@app.command("owner")
@changing
def owner(context: typer.Context, name: NewNameArgument, *, manner: Manner) -> None:
    """Make an owner, a team that resources belong to."""
    _create(context, "owner", {"name": name}, manner)


@app.command("token")
@changing
def token(
    context: typer.Context,
    name: NewNameArgument,
    *,
    read_only: Annotated[bool, typer.Option("--read-only", help="It may change nothing.")] = False,
    days: Annotated[
        int | None, typer.Option("--days", min=1, metavar="COUNT", help="It ends after so many.")
    ] = None,
    manner: Manner,
) -> None:
    """Make an API token of your own and write it; it is shown only now."""
    session = session_of(context)
    body: dict[str, object] = {"name": name, "scope": "read" if read_only else "write"}
    if days is not None:
        body["expires_at"] = (clock.now() + timedelta(days=days)).isoformat()
    with session.api() as api:
        document = send(api, Change("POST", BY_NAME["token"].path, body), manner)
    if manner.form in {Format.JSON, Format.YAML}:
        print_object(session.output, BY_NAME["token"], document, manner.form, now=clock.now())
        return
    session.output.data(text(document, "token"))
    session.output.say(f"Token {name} is shown only now; keep it, or revoke it with: "
                       f"infra delete token {name}")  # fmt: skip


def resource_body(
    name: str,
    spec: Document,
    labels: list[str] | None,
    owner: str,
    zone: str,
    *,
    protected: bool = False,
) -> dict[str, object]:
    """Return a declaration as the API takes it. Raises Failure for a label that is none."""
    body: dict[str, object] = {"name": name, "labels": parse_labels(labels), "spec": dict(spec)}
    if owner:
        body["owner"] = owner
    if zone:
        body["zone"] = zone
    if protected:
        body["protected"] = True
    return body


def read_text(path: Path) -> str:
    """Return what a file holds; `-` is the input. Raises Failure."""
    try:
        if str(path) == "-":
            return typer.get_text_stream("stdin").read()
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise usage(f"{path} cannot be read: {error}") from error


def _create(context: typer.Context, kind: str, body: Document, manner: Manner) -> None:
    found = BY_NAME[kind]
    carry_out(session_of(context), found, Change("POST", found.path, body), manner)
