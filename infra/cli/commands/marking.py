"""`infra label`, `protect`, `unprotect`: what is said of an object beside its spec."""

from __future__ import annotations

from typing import Annotated

import typer

from infra.cli.documents import Document, mapping, text
from infra.cli.failures import usage
from infra.cli.kinds import find_kind
from infra.cli.manner import Manner, changing
from infra.cli.options import KindArgument, NameArgument
from infra.cli.session import session_of
from infra.cli.writing import Change, object_path, send, tell


@changing
def label(
    context: typer.Context,
    kind: KindArgument,
    name: NameArgument,
    words: Annotated[
        list[str], typer.Argument(metavar="KEY=VALUE|KEY-...", help="Set, or take away with KEY-.")
    ],
    *,
    manner: Manner,
) -> None:
    """Set labels of an object, or take them away; the others stay."""
    _patch(context, kind, name, words, manner)


@changing
def protect(
    context: typer.Context, kind: KindArgument, name: NameArgument, *, manner: Manner
) -> None:
    """Refuse to delete an object until that is lifted."""
    _patch(context, kind, name, None, manner, protected=True)


@changing
def unprotect(
    context: typer.Context, kind: KindArgument, name: NameArgument, *, manner: Manner
) -> None:
    """Let an object be deleted again."""
    _patch(context, kind, name, None, manner, protected=False)


def labels_after(before: Document, words: list[str]) -> dict[str, str]:
    """Return the labels once the words are carried out (pure). Raises Failure."""
    after = {key: str(value) for key, value in before.items()}
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key:
            after[key] = value
        elif word.endswith("-") and len(word) > 1:
            after.pop(word[:-1], None)
        else:
            raise usage(f"{word!r} is no label.", advice="KEY=VALUE sets one, KEY- takes it away.")
    return after


def _patch(
    context: typer.Context,
    kind: str,
    name: str,
    words: list[str] | None,
    manner: Manner,
    *,
    protected: bool = False,
) -> None:
    """Change an object as it was read: whoever was quicker is not overwritten."""
    session = session_of(context)
    chosen = find_kind(kind)
    with session.api() as api:
        read = api.get(object_path(chosen, name))
        body: Document = {"protected": protected}
        if words is not None:
            body = {"labels": labels_after(mapping(read.document, "labels"), words)}
        path = object_path(chosen, text(read.document, "id") or name)
        document = send(api, Change("PATCH", path, body, if_match=read.etag), manner)
        tell(session, api, chosen, document, manner)
