"""Requests to the control plane over TLS, and what their failures say."""

from __future__ import annotations

import ssl
from typing import TypeVar

import httpx2
from pydantic import ValidationError

from agent.protocol.messages import Problem
from agent.protocol.values import WireValue

CONNECT_SECONDS = 10.0
ANSWER_SECONDS = 30.0
OK = 200

Answer = TypeVar("Answer", bound=WireValue)


class Unheard(Exception):
    """No answer came. Whether the request was taken is not known."""


class TurnedAway(Exception):
    """The control plane said no. `code` is permanent; "" when it gave none."""

    def __init__(self, status: int, code: str, detail: str) -> None:
        super().__init__(f"{detail or 'turned away'} ({status} {code})".replace(" )", ")"))
        self.status = status
        self.code = code


def open_line(base_url: str, context: ssl.SSLContext) -> httpx2.AsyncClient:
    """Return a client for requests one after the other; its connection is kept."""
    limits = httpx2.Limits(max_connections=1, max_keepalive_connections=1)
    return httpx2.AsyncClient(
        base_url=base_url,
        verify=context,
        limits=limits,
        timeout=httpx2.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
        trust_env=False,
    )


async def ask(
    line: httpx2.AsyncClient,
    path: str,
    request: WireValue,
    answer: type[Answer],
    *,
    seconds: float = ANSWER_SECONDS,
) -> Answer:
    """Post a wire value and return the answer. Raises Unheard, TurnedAway."""
    timeout = httpx2.Timeout(seconds, connect=CONNECT_SECONDS)
    try:
        response = await line.post(
            path,
            content=request.model_dump_json().encode(),
            headers={"content-type": "application/json"},
            timeout=timeout,
        )
    except (httpx2.HTTPError, ssl.SSLError, OSError) as error:
        raise Unheard(f"{type(error).__name__}: {error}") from error
    return understand(response, answer)


def understand(response: httpx2.Response, answer: type[Answer]) -> Answer:
    """Return the value in a good answer. Raises Unheard, TurnedAway."""
    if response.status_code != OK:
        raise turned_away(response.status_code, response.content)
    try:
        return answer.model_validate_json(response.content)
    except ValidationError as error:
        raise Unheard(f"The answer could not be read: {error.error_count()} faults.") from error


def turned_away(status: int, body: bytes) -> TurnedAway:
    """Return the refusal that an answer carries."""
    try:
        problem = Problem.model_validate_json(body)
    except ValidationError:
        return TurnedAway(status, "", "")
    return TurnedAway(status, problem.code, problem.detail)
