from __future__ import annotations

import pytest

from infra.cli.escapes import Escapes, Typed


def take(*parts: bytes) -> tuple[bytes, bool]:
    escapes = Escapes()
    typed = [escapes.take(part) for part in parts]
    return b"".join(part.data for part in typed), typed[-1].leaves


@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        ([b"~."], b""),
        ([b"ls\r~."], b"ls\r"),
        ([b"ls\n", b"~", b"."], b"ls\n"),
        ([b"ls\x1d more"], b"ls"),
        ([b"\x1d"], b""),
    ],
)
def test_the_person_leaves(parts: list[bytes], sent: bytes) -> None:
    assert take(*parts) == (sent, True)


@pytest.mark.parametrize(
    ("parts", "sent"),
    [
        ([b"cd ~.\r"], b"cd ~.\r"),
        ([b"~~."], b"~."),
        ([b"~/bin\r"], b"~/bin\r"),
        ([b"\r~x"], b"\r~x"),
        ([b"\x03\x04\x1b[A"], b"\x03\x04\x1b[A"),
        ([b"a", b"~", b"."], b"a~."),
    ],
)
def test_everything_else_goes_to_the_guest(parts: list[bytes], sent: bytes) -> None:
    assert take(*parts) == (sent, False)


def test_a_tilde_that_may_begin_an_escape_is_held_back() -> None:
    escapes = Escapes()

    assert escapes.take(b"~") == Typed(b"")
    assert escapes.take(b"a") == Typed(b"~a")
