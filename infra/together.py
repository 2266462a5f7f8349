"""Several things at once, of which the first to end ends all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence


async def until_first_ends(work: Sequence[Callable[[], Awaitable[None]]]) -> None:
    """Run all until one returns or raises; end the others; raise what it raised."""
    tasks = [asyncio.ensure_future(start()) for start in work]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for task in done:
        await task
