"""From synchronous code in a thread to the event loop that has the socket."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def wait_for(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T], what: str, instead: str) -> T:
    """Waits in this thread. On the loop's own thread that would wait for ever, so it is refused."""
    try:
        here: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        here = None
    if here is loop:
        work.close()
        raise RuntimeError(
            f"A synchronous call of {what} inside an asynchronous node would block the event loop for ever. "
            f"Use its asynchronous form ({instead}), or make the node synchronous."
        )
    return asyncio.run_coroutine_threadsafe(work, loop).result()
