"""What the agent edge answers: wire values, and refusals as Problems. Only here are statuses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import structlog
from django.db import DataError
from django.db import Error as DatabaseError
from pydantic import ValidationError
from pydantic_core import from_json

from agent.protocol.messages import Problem
from agent.protocol.values import PROTOCOL_VERSION, WireValue
from infra.agents.tls import fingerprint_of
from infra.http import BodyTooLarge, ClientGone, Reply, Scope, peer_address, text_of
from inventory.errors import Conflict, InfraError, Invalid, NotFound
from operations.enrolment import IdentityRefused

ERRORS_TOLD = 5
"""A body may be wrong in a thousand places; the first few tell what kind of mistake it is."""

Request = TypeVar("Request", bound=WireValue)
_log = structlog.get_logger(__name__)


class Refused(Exception):
    """The request is turned away with this status and Problem."""

    def __init__(
        self, status: int, code: str, detail: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.headers = headers or {}


def answer(value: WireValue) -> Reply:
    """Return the answer that carries a wire value."""
    return Reply(200, value.model_dump_json().encode())


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> Reply:
    """Return the answer that says why not."""
    body = Problem(code=code, detail=detail).model_dump_json().encode()
    return Reply(status, body, "application/problem+json", headers or {})


def parse(model: type[Request], body: bytes) -> Request:
    """Return the request in the body. Raises Refused; what was sent is never repeated."""
    try:
        request = model.model_validate_json(body)
    except ValidationError as error:
        _check_protocol(_stated_protocol(body))
        told = [
            f"{'.'.join(str(part) for part in entry['loc']) or 'body'}: {entry['msg']}"
            for entry in error.errors(include_url=False, include_context=False, include_input=False)
        ]
        more = f" (and {len(told) - ERRORS_TOLD} more)" if len(told) > ERRORS_TOLD else ""
        raise Refused(400, "body.invalid", "; ".join(told[:ERRORS_TOLD]) + more) from error
    _check_protocol(getattr(request, "protocol", PROTOCOL_VERSION))
    return request


def _stated_protocol(body: bytes) -> object:
    try:
        document = from_json(body)
    except ValueError:
        return PROTOCOL_VERSION
    if not isinstance(document, dict):
        return PROTOCOL_VERSION
    return document.get("protocol", PROTOCOL_VERSION)


def _check_protocol(stated: object) -> None:
    if stated != PROTOCOL_VERSION and isinstance(stated, int):
        detail = f"This edge speaks protocol {PROTOCOL_VERSION}; the request is in {stated}."
        raise Refused(400, "protocol.unsupported", detail)


async def answered(scope: Scope, make: Callable[[], Awaitable[Reply]]) -> Reply | None:
    """Return the reply, or the Problem for whatever stopped it; None when nobody waits for it."""
    try:
        return await make()
    except ClientGone:
        return None
    except (Refused, InfraError) as error:
        _log.warning(
            "agent_refused",
            code=error.code,
            path=text_of(scope, "path"),
            peer=peer_address(scope),
            certificate=fingerprint_of(scope),
            reason=str(error),
        )
        return _told(error)
    except BodyTooLarge as error:
        return problem(413, "body.too_large", str(error))
    except DataError:
        return problem(400, "body.unstorable", "The body holds text that cannot be stored.")
    except DatabaseError as error:
        _log.warning("database_unavailable", error=str(error))
        detail = "The control plane cannot reach its database; nothing was recorded. Try again."
        return problem(503, "unavailable", detail, {"retry-after": "2"})
    except Exception:  # noqa: BLE001  an edge answers, whatever went wrong; the log has it all
        _log.exception("exchange_failed")
        detail = "The control plane failed; whether anything was recorded is not known."
        return problem(500, "failed", detail)


def _told(error: Refused | InfraError) -> Reply:
    if isinstance(error, Refused):
        return problem(error.status, error.code, str(error), error.headers)
    if isinstance(error, IdentityRefused):
        return problem(403, error.code, str(error))
    if isinstance(error, Invalid):
        return problem(400, error.errors[0].code, str(error))
    if isinstance(error, NotFound):
        return problem(404, error.code, str(error))
    status = 409 if isinstance(error, Conflict) else 403
    return problem(status, error.code, str(error))
