"""What the OpenAPI document says of an endpoint, in one line above it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from pydantic import BaseModel

from infra.api.paging import DEFAULT_LIMIT, MOST_LIMIT
from inventory.reads.keyset import Order

Method = TypeVar("Method", bound=Callable[..., object])

PARAMETERS: Mapping[str, str] = {
    "state": "only in this state",
    "kind": "only of this kind",
    "cause": "only with this cause: person, drift, retry",
    "owner": "only of this owner, by name or id",
    "zone": "only in this zone and the zones in it, by name or id",
    "resource": "only of this resource, by name or id",
    "parent": "only parts of this operation",
    "mine": "`true` for only one's own",
    "q": "only with this text in the name",
    "label": "only with these labels: `key=value`, or `key`, several with commas",
    "node": "only on this node, by name or id",
    "image": "only those that start from this image, by name",
    "lifecycle": "only nodes in this state of their life; `left` ones are shown only so",
    "condition": "only nodes with this condition",
    "object": "only about the object with this id",
    "actor": "only by this person",
    "action": "only this action",
}


def described(
    answer: type[BaseModel] | None,
    *,
    status: int = 200,
    body: type[BaseModel] | None = None,
    filters: Sequence[str] = (),
    orders: Mapping[str, Order] | None = None,
    waits: bool = False,
    other: Mapping[int, type[BaseModel]] | None = None,
    public: bool = False,
) -> Callable[[Method], Method]:
    """Return the decorator that describes an endpoint's method; errors are added for all."""
    responses: dict[int, object] = {
        status: answer if answer is not None else OpenApiResponse(description="Done.")
    }
    responses.update(other or {})
    parameters = [_text(name, PARAMETERS[name]) for name in filters]
    if orders is not None:
        parameters += _paging(orders)
    if waits:
        parameters.append(_prefer())
    decorate: Callable[[Method], Method] = extend_schema(
        request={"application/json": body} if body is not None else None,
        responses=responses,
        parameters=parameters,
        auth=[] if public else None,
    )
    return decorate


def _text(name: str, says: str) -> OpenApiParameter:
    return OpenApiParameter(name, str, OpenApiParameter.QUERY, description=says)


def _paging(orders: Mapping[str, Order]) -> list[OpenApiParameter]:
    limit = {"type": "integer", "minimum": 1, "maximum": MOST_LIMIT, "default": DEFAULT_LIMIT}
    return [
        OpenApiParameter("limit", limit, OpenApiParameter.QUERY, description="rows of a page"),
        _text("cursor", "the `next_cursor` of the page before"),
        OpenApiParameter(
            "order", str, OpenApiParameter.QUERY, enum=list(orders), description="what to sort by"
        ),
        OpenApiParameter(
            "count", bool, OpenApiParameter.QUERY, description="also count all rows; costs a scan"
        ),
    ]


def _prefer() -> OpenApiParameter:
    return OpenApiParameter(
        "Prefer",
        str,
        OpenApiParameter.HEADER,
        description="`wait=N`: answer when the operation has ended, or after N seconds",
    )
