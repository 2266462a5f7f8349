"""The guest of the driver tests: one boot sector, up within a second under emulation.

It says HELLO on its serial console, echoes what it hears there, and switches itself off when its
power button is pressed. `sector.S` beside this file is its source.
"""

from __future__ import annotations

from pathlib import Path

_CODE = bytes.fromhex(
    "fa31c08ed88ed0bc007cba0206b80001efbe527cac84c07405e82500ebf6"
    "ba0006edf6c4017511bafd03eca80174efbaf803ece80b00ebe6ba0406b8"
    "0020efebf788c4bafd03eca82074fb88e0baf803eec348454c4c4f207365"
    "63746f720d0a00"
)

IMAGE = (_CODE.ljust(510, b"\0") + b"\x55\xaa").ljust(1024 * 1024, b"\0")
"""A raw disk of 1 MiB that boots."""


def write_image(path: Path) -> Path:
    path.write_bytes(IMAGE)
    return path
