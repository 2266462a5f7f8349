"""Leaving a raw terminal: Ctrl-] at once, or `~.` at the beginning of a line. Pure."""

from __future__ import annotations

from dataclasses import dataclass

LEAVE = 0x1D
"""Ctrl-]"""

TILDE, DOT = ord("~"), ord(".")
_LINE_ENDS = frozenset(b"\r\n")


@dataclass(frozen=True)
class Typed:
    """What of the typed bytes is for the guest, and whether the person wants to leave."""

    data: bytes
    leaves: bool = False


class Escapes:
    """Reads typed bytes. `~~` at the beginning of a line is one `~` for the guest."""

    def __init__(self) -> None:
        self._at_line_start = True
        self._held_tilde = False

    def take(self, typed: bytes) -> Typed:
        """Return what the bytes mean; a `~` that may begin an escape is held back."""
        data = bytearray()
        for byte in typed:
            if byte == LEAVE or (self._held_tilde and byte == DOT):
                return Typed(bytes(data), leaves=True)
            if byte == TILDE and self._at_line_start and not self._held_tilde:
                self._held_tilde = True
                continue
            if self._held_tilde and byte != TILDE:
                data.append(TILDE)
            data.append(byte)
            self._held_tilde = False
            self._at_line_start = byte in _LINE_ENDS
        return Typed(bytes(data))
