#!/usr/bin/env python3
"""Runs Infra from this checkout: `./manage.py up`. Needs nothing but Python 3.11 or newer."""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - older ones still get a sentence, not a traceback
    sys.exit(f"Infra needs Python 3.11 or newer; this is {sys.version.split()[0]}.")

sys.path.insert(0, str(Path(__file__).resolve().parent))

from infra.bootstrap.main import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
