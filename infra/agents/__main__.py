"""The agent edge as a process: `python -m infra.agents`. Any number of them may run."""

from __future__ import annotations

import asyncio
import os
import sys


def main() -> int:
    """Serve until SIGTERM or SIGINT; return the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "infra.settings")
    import django  # noqa: PLC0415  the settings are named above

    django.setup()
    from infra.agents.starting import serve  # noqa: PLC0415  needs the apps to be loaded

    try:
        asyncio.run(serve())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"The agent edge cannot start: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
