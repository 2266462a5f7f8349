"""How the start-up says that it cannot go on."""

from __future__ import annotations


class CannotContinue(Exception):
    """Something a person has to know and do something about; the message is for them."""


class StopRequested(Exception):
    """A person or the system asked the supervisor to stop."""
