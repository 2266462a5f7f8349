"""Problem documents (RFC 9457) as sentences and exit codes. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from infra.cli.documents import Document, mappings, text
from infra.cli.failures import ExitCode, Failure, FieldTrouble

CODES: Mapping[int, ExitCode] = MappingProxyType(
    {
        404: ExitCode.NOT_FOUND,
        410: ExitCode.NOT_FOUND,
        409: ExitCode.CONFLICT,
        412: ExitCode.CONFLICT,
        428: ExitCode.CONFLICT,
    }
)

ADVICE: Mapping[int, str] = MappingProxyType(
    {
        401: "Sign in with: infra login",
        404: "See what there is with: infra get KIND",
        412: "Read it again, and repeat what still applies.",
        429: "Wait a little and repeat the command.",
    }
)

UNCHANGED = "Nothing was changed."
_SAYS_SO = re.compile("[Nn]othing (was )?changed")


def failure_of(status: int, document: Document) -> Failure:
    """Return the failure an answer of 400 or above stands for."""
    title, detail = text(document, "title"), text(document, "detail")
    what = detail or title or f"The server answered {status} without saying why."
    fields = tuple(_fields(document))
    if fields and title:
        what = title.rstrip(".") + "."
    return Failure(
        code=CODES.get(status, ExitCode.ERROR),
        what=what,
        safe="" if _SAYS_SO.search(what) or status in {401, 404} else UNCHANGED,
        advice=ADVICE.get(status, ""),
        fields=fields,
        request_id=text(document, "request_id") if status >= 500 else "",  # noqa: PLR2004  theirs
    )


def _fields(document: Document) -> list[FieldTrouble]:
    return [
        FieldTrouble(
            pointer=text(error, "pointer"),
            message=text(error, "detail") or text(error, "message"),
        )
        for error in mappings(document, "errors")
    ]
