"""Threads for synchronous code, each known by the call it works for, so that a cancelled call can be stopped."""

from __future__ import annotations

import asyncio
import ctypes
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from .calls import current_call

P = ParamSpec("P")
T = TypeVar("T")


class RunInterrupted(BaseException):
    """Raised inside synchronous code whose run was cancelled. Not an `Exception`, which such code often swallows."""


class CallThreads(ThreadPoolExecutor):
    """An executor whose work can be interrupted by the number of its call."""

    def __init__(self, max_workers: int) -> None:
        super().__init__(max_workers, thread_name_prefix="treadle-worker")
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}
        """Thread to the call it works for."""
        self._struck: set[int] = set()
        self._futures: dict[int, set[Future[Any]]] = {}

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        call = current_call.get()
        if call == 0:
            return super().submit(fn, *args, **kwargs)
        future = super().submit(self._work, call, fn, args, kwargs)
        self._futures.setdefault(call, set()).add(future)
        return future

    def _work(self, call: int, fn: Callable[..., T], args: Any, kwargs: Any) -> T:
        thread = threading.get_ident()
        with self._lock:
            self._calls[thread] = call
        try:
            return fn(*args, **kwargs)
        finally:
            with self._lock:
                self._calls.pop(thread, None)
                if thread in self._struck:
                    # It may not have arrived yet, and must not hit the thread's next work.
                    self._struck.discard(thread)
                    _raise_in(thread, None)

    def interrupt(self, call: int) -> bool:
        """Stops the call's synchronous code at its next line of Python; false when none runs."""
        found = False
        with self._lock:
            for thread, working_for in self._calls.items():
                if working_for == call:
                    self._struck.add(thread)
                    found = _raise_in(thread, RunInterrupted) or found
        return found

    async def idle(self, call: int) -> None:
        """Waits until none of the call's synchronous code runs any more."""
        waiting = [asyncio.wrap_future(one) for one in self._futures.pop(call, ()) if one.running()]
        if waiting:
            await asyncio.wait(waiting)

    def forget(self, call: int) -> None:
        """The call is over."""
        self._futures.pop(call, None)

    def working(self) -> dict[int, int]:
        with self._lock:
            return dict(self._calls)


def _raise_in(thread: int, error: type[BaseException] | None) -> bool:
    target = ctypes.py_object(error) if error else None
    return int(ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), target)) == 1
