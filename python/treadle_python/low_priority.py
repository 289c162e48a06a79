"""Work that nobody waits for yet: everything else on the machine goes first."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

LOWERED = 10
"""A machine that is never at rest still gives it about a tenth of a processor."""
TRIES = 50
PAUSE_SECONDS = 0.1

_group = "/proc/self/autogroup"
"""Where the kernel shares processors among sessions first, the priority of a thread counts within its session only."""


async def at_low_priority(work: Callable[[], object]) -> None:
    """In a thread of its own, which ends with it: only the privileged may give a thread its priority back."""
    executor = ThreadPoolExecutor(1, "treadle-background")
    try:
        await asyncio.get_running_loop().run_in_executor(executor, _lowered, work)
    finally:
        executor.shutdown(wait=False)


def _lowered(work: Callable[[], object]) -> None:
    if not sys.platform.startswith("linux"):
        work()
        return
    # Of this thread alone: on Linux each has its own.
    os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWERED)
    has_group = _set_group(LOWERED)
    try:
        work()
    finally:
        if has_group:
            _restore_group()


def _set_group(priority: int) -> bool:
    """False where there is none, or the kernel refuses it at the moment."""
    try:
        with open(_group, "w") as file:
            file.write(str(priority))
    except OSError:
        return False
    return True


def _restore_group() -> None:
    """The kernel allows few changes a second, of all processes together."""
    for _ in range(TRIES):
        if _set_group(0):
            return
        time.sleep(PAUSE_SECONDS)
    raise OSError(f"{_group} could not be set back: the process would stay at a low priority")
