"""Builds an image by hand: `python -m infra.bootstrap.guestimage hello OUT`."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from infra.bootstrap.guestimage import BuildFailed, build_debian, build_hello

BUILDERS = {"hello": build_hello, "debian": build_debian}


def main(arguments: list[str]) -> int:
    """Build the image asked for; progress on stderr, digest and sizes on stdout. Return 0 or 1."""
    parser = argparse.ArgumentParser(prog="python -m infra.bootstrap.guestimage")
    parser.add_argument("image", choices=sorted(BUILDERS))
    parser.add_argument("out", type=Path, help="the qcow2 file to write")
    parser.add_argument("--work-dir", type=Path, help="keep fetched packages here")
    options = parser.parse_args(arguments)
    started = time.monotonic()

    def say(line: str) -> None:
        print(f"{time.monotonic() - started:6.1f} s  {line}", file=sys.stderr, flush=True)

    try:
        built = BUILDERS[options.image](options.out, work_dir=options.work_dir, say=say)
    except BuildFailed as error:
        say(str(error))
        return 1
    say(f"Done: {built.size_bytes / 2**20:.0f} MiB, {built.virtual_size_bytes / 2**20:.0f} as disk")
    print(f"{built.sha256}  {built.path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
