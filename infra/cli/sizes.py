"""Sizes as people write them: 512M, 2G, 1.5GiB. Pure."""

from __future__ import annotations

import re
from fractions import Fraction

from infra.cli.failures import usage

MIB_PER_GIB = 1024
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT])(?:i?B?)?", re.IGNORECASE)
_MIB = {"K": Fraction(1, 1024), "M": Fraction(1), "G": Fraction(1024), "T": Fraction(1024 * 1024)}


def parse_mib(word: str, option: str) -> int:
    """Return the size in MiB. Raises Failure for what is no whole number of them."""
    found = _SIZE.fullmatch(word.strip())
    if found is None:
        raise usage(f"{option} {word!r} is no size.", advice="A size reads such as 512M or 2G.")
    exact = Fraction(found[1]) * _MIB[found[2].upper()]
    if exact.denominator != 1:
        raise usage(f"{option} {word!r} is not a whole number of MiB.")
    return int(exact)


def parse_gib(word: str, option: str) -> int:
    """Return the size in GiB. Raises Failure for what is no whole number of them."""
    mib = parse_mib(word, option)
    if mib % MIB_PER_GIB:
        raise usage(f"{option} {word!r} is not a whole number of GiB.")
    return mib // MIB_PER_GIB


def sizes_body(vcpus: int | None, memory: str, disk: str) -> dict[str, int]:
    """Return the sizes that were named, as a droplet's spec calls them. Raises Failure."""
    body = {} if vcpus is None else {"vcpus": vcpus}
    if memory:
        body["memory_mib"] = parse_mib(memory, "--memory")
    if disk:
        body["disk_gib"] = parse_gib(disk, "--disk")
    return body
