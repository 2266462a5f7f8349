"""Following an operation to its end, and what its end means for the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.cli.changes import changes_of
from infra.cli.clock import elapsed
from infra.cli.documents import Document, mappings, text
from infra.cli.failures import ExitCode, Failure
from infra.cli.questions import Answer

if TYPE_CHECKING:
    from infra.cli.api import Api
    from infra.cli.output import Output

FINISHED = frozenset({"succeeded", "failed", "cancelled"})


def operation_path(answer: Answer) -> str:
    """Return where the operation of an accepted change is, below the API's root; "" for none."""
    _, found, rest = answer.headers.get("location", "").partition("/operations/")
    return f"operations/{rest.strip('/')}" if found else ""


def is_finished(operation: Document) -> bool:
    """Return whether nothing more will happen for it."""
    return text(operation, "state") in FINISHED


def title_of(operation: Document) -> str:
    """Return the operation in a few words."""
    parts = (text(operation, "kind"), text(operation, "resource_name"))
    return f"Operation {text(operation, 'public_id')}: {' '.join(filter(None, parts))}"


def progress_of(operation: Document) -> str:
    """Return in one line how far the operation is, and what it waits for."""
    line = f"{title_of(operation)} is {text(operation, 'state')}"
    waiting = text(operation, "waiting_text") or text(operation, "waiting_on", "text")
    if waiting:
        return f"{line}: {waiting}"
    children = list(mappings(operation, "children"))
    if children:
        ended = [child for child in children if is_finished(child)]
        return f"{line}; {len(ended)} of {len(children)} parts have ended"
    step = next(
        (step for step in mappings(operation, "steps") if text(step, "state") != "done"), None
    )
    if step is None or is_finished(operation):
        return line
    where = f" on {text(step, 'node')}" if text(step, "node") else ""
    return f"{line}; step {text(step, 'kind')}{where} is {text(step, 'state')}"


def follow(api: Api, output: Output, path: str, *, timeout: float) -> Document:
    """Return the operation once it has finished. Raises Failure: UNCERTAIN after `timeout` s."""
    ends = elapsed() + timeout
    operation = api.get(path).document
    if is_finished(operation):
        return operation
    with changes_of(api, output.say, ["operation"]) as changes, output.progress() as show:
        while not is_finished(operation):
            show(progress_of(operation))
            left = ends - elapsed()
            if left <= 0:
                raise timed_out(operation, timeout)
            changes.wait(most=left)
            operation = api.get(path).document
    return operation


def timed_out(operation: Document, timeout: float) -> Failure:
    """Return the failure of whoever stops waiting; it says nothing about the operation."""
    number = text(operation, "public_id")
    return Failure(
        ExitCode.UNCERTAIN,
        f"{progress_of(operation).rstrip('.')}, after {timeout:g} s.",
        safe="It goes on without this command; nothing is lost by waiting no longer.",
        advice=f"Ask what is known with: infra describe operation {number}\n"
        f"Wait on with: infra wait operation {number}",
    )


def check_ended_well(operation: Document, wanted: str = "succeeded") -> None:
    """Raise Failure when a finished operation has not ended as wanted."""
    state, number = text(operation, "state"), text(operation, "public_id")
    if state == wanted:
        return
    code = ExitCode.ERROR if state in FINISHED else ExitCode.UNCERTAIN
    because = " ".join(_reasons(operation))
    raise Failure(
        code,
        f"{title_of(operation)} {state}. {because}".strip(),
        advice=f"See why, and what is safe, with: infra describe operation {number}"
        + (f"\nTry it again with: infra retry {number}" if state == "failed" else ""),
    )


def _reasons(operation: Document) -> list[str]:
    """Return why it did not succeed: what its steps said, and which of its parts did not."""
    said = [text(step, "message") for step in mappings(operation, "steps")]
    parts = [
        f"{title_of(child)} {text(child, 'state')}."
        for child in mappings(operation, "children")
        if text(child, "state") != "succeeded"
    ]
    return [reason for reason in dict.fromkeys((*said, *parts)) if reason]
