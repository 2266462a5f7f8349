"""The ORM from asynchronous code: a few threads, each giving its connection back after each call.

Hundreds of waiting clients then need no more connections than there are threads.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import ParamSpec, TypeVar

from django.db import connections

P = ParamSpec("P")
T = TypeVar("T")


class DatabaseThreads:
    """Runs functions that use the ORM, at most `threads` of them at once."""

    def __init__(self, threads: int = 8) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix="database")

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Return what the function returns; it runs outside any transaction of the caller."""
        call = partial(_give_back_after, partial(function, *args, **kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._executor, call)

    def close(self) -> None:
        self._executor.shutdown(wait=True, cancel_futures=True)


def _give_back_after(call: Callable[[], T]) -> T:
    try:
        return call()
    finally:
        connections.close_all()


@functools.cache
def web_threads() -> DatabaseThreads:
    """Return the threads of the web process, for what does not go through Django's handler."""
    return DatabaseThreads(4)
