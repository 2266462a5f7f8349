"""Sorts what libvirt says into what may be concluded from it."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from time import monotonic

import libvirt

from agent.drivers.base import DriverError, OutcomeUnknown, Refused

LOOK_SECONDS = 0.1

_CODES = {
    libvirt.VIR_ERR_ACCESS_DENIED: "libvirt.denied",
    libvirt.VIR_ERR_ARGUMENT_UNSUPPORTED: "libvirt.unsupported",
    libvirt.VIR_ERR_AUTH_CANCELLED: "libvirt.denied",
    libvirt.VIR_ERR_AUTH_FAILED: "libvirt.denied",
    libvirt.VIR_ERR_AUTH_UNAVAILABLE: "libvirt.denied",
    libvirt.VIR_ERR_CONFIG_UNSUPPORTED: "libvirt.unsupported",
    libvirt.VIR_ERR_DOM_EXIST: "libvirt.exists",
    libvirt.VIR_ERR_INVALID_ARG: "libvirt.invalid",
    libvirt.VIR_ERR_NO_DOMAIN: "libvirt.no_guest",
    libvirt.VIR_ERR_NO_SUPPORT: "libvirt.unsupported",
    libvirt.VIR_ERR_OPERATION_DENIED: "libvirt.denied",
    libvirt.VIR_ERR_OPERATION_INVALID: "libvirt.wrong_state",
    libvirt.VIR_ERR_OPERATION_UNSUPPORTED: "libvirt.unsupported",
    libvirt.VIR_ERR_PARSE_FAILED: "libvirt.invalid",
    libvirt.VIR_ERR_RESOURCE_BUSY: "libvirt.busy",
    libvirt.VIR_ERR_XML_DETAIL: "libvirt.invalid",
    libvirt.VIR_ERR_XML_ERROR: "libvirt.invalid",
    libvirt.VIR_ERR_XML_INVALID_SCHEMA: "libvirt.invalid",
}
"""The permanent names of what people can do something about; the rest is `libvirt.failed`."""

_CONNECTION_LOST = frozenset(
    {
        libvirt.VIR_ERR_INVALID_CONN,
        libvirt.VIR_ERR_NO_CONNECT,
        libvirt.VIR_ERR_RPC,
    }
)


_STILL_GOING = frozenset({libvirt.VIR_ERR_OPERATION_TIMEOUT, libvirt.VIR_ERR_AGENT_UNRESPONSIVE})


def sort_error(error: libvirt.libvirtError) -> DriverError:
    """Return `Refused` for an answer: libvirt puts back what it could not finish.

    Only a connection that broke, or a wait that libvirt gave up, leaves the outcome unknown.
    """
    message = error.get_error_message() or str(error)
    if is_connection_lost(error):
        return OutcomeUnknown("libvirt.unreachable", message)
    if error.get_error_code() in _STILL_GOING:
        return OutcomeUnknown("libvirt.busy", message)
    return Refused(_CODES.get(error.get_error_code(), "libvirt.failed"), message)


@contextlib.contextmanager
def answered_anyway(is_so: Callable[[], bool], *, seconds: float = 0.0) -> Iterator[None]:
    """Let an error pass that came as an answer, if what was wanted is so all the same.

    A guest may stop, start or go by itself between a look and the change that follows; `seconds`
    is how long it may take to become so.
    """
    try:
        yield
    except libvirt.libvirtError as error:
        if isinstance(sort_error(error), OutcomeUnknown) or not _becomes(is_so, seconds):
            raise


def _becomes(is_so: Callable[[], bool], seconds: float) -> bool:
    deadline = monotonic() + seconds
    while not is_so():
        if monotonic() >= deadline:
            return False
        threading.Event().wait(LOOK_SECONDS)
    return True


def is_connection_lost(error: libvirt.libvirtError) -> bool:
    """Return whether the connection that raised this is of no more use."""
    remote = error.get_error_domain() in {libvirt.VIR_FROM_RPC, libvirt.VIR_FROM_REMOTE}
    return remote or error.get_error_code() in _CONNECTION_LOST


def is_gone(error: libvirt.libvirtError) -> bool:
    """Return whether libvirt says that there is no such guest."""
    return bool(error.get_error_code() == libvirt.VIR_ERR_NO_DOMAIN)
