"""`infra apply`, `diff`, `plan`: manifests, planned on the server and applied in one go."""

from __future__ import annotations

import typer

from infra.cli import clock
from infra.cli.documents import Document
from infra.cli.failures import Failure
from infra.cli.kinds import BY_NAME
from infra.cli.manifests import Manifest, placed, read_manifests
from infra.cli.manner import Manner, changing
from infra.cli.options import FilesOption, FormatOption
from infra.cli.plans import diff_lines, plan_lines
from infra.cli.printing import Format, print_object
from infra.cli.session import Session, session_of
from infra.cli.writing import Change, is_operation, send, tell

MANIFESTS = "/manifests"
DIFFERENT = 1
"""The exit code of `infra diff` when something differs, as diff(1) has it."""


@changing
def apply(context: typer.Context, files: FilesOption, *, manner: Manner) -> None:
    """Declare everything in manifests, all of it or nothing."""
    session = session_of(context)
    manifests = read_manifests(files)
    with session.api() as api:
        try:
            operation = send(api, Change("POST", "apply", _body(manifests)), manner)
        except Failure as failure:
            raise placed(failure, manifests, MANIFESTS) from failure
        if is_operation(operation):
            tell(session, api, BY_NAME["operation"], operation, manner)
        else:
            session.output.say("Everything is declared so already; nothing was changed.")


def plan(context: typer.Context, files: FilesOption, form: FormatOption = Format.TABLE) -> None:
    """Say what applying manifests would do, and change nothing."""
    session = session_of(context)
    document = _ask(session, "plan", read_manifests(files))
    if form in {Format.JSON, Format.YAML}:
        print_object(session.output, BY_NAME["resource"], document, form, now=clock.now())
        return
    for line in plan_lines(document):
        session.output.data(line)


def diff(context: typer.Context, files: FilesOption, form: FormatOption = Format.TABLE) -> None:
    """Show how manifests differ from what is declared; exit code 1 when they do."""
    session = session_of(context)
    document = _ask(session, "diff", read_manifests(files))
    if form in {Format.JSON, Format.YAML}:
        print_object(session.output, BY_NAME["resource"], document, form, now=clock.now())
    lines = diff_lines(document)
    if form not in {Format.JSON, Format.YAML}:
        for line in lines:
            session.output.data(line)
    if lines:
        raise typer.Exit(DIFFERENT)


def _ask(session: Session, what: str, manifests: list[Manifest]) -> Document:
    with session.api() as api:
        try:
            return api.write("POST", what, _body(manifests)).document
        except Failure as failure:
            raise placed(failure, manifests, MANIFESTS) from failure


def _body(manifests: list[Manifest]) -> Document:
    return {"manifests": [manifest.document for manifest in manifests]}
