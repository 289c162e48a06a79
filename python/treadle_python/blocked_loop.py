"""Why the event loop is behind: code of the project that blocks it, or more work than can be done."""

from __future__ import annotations

import os
import sys
import sysconfig
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType

_own = os.path.dirname(os.path.abspath(__file__)) + os.sep
_installed = tuple({sysconfig.get_path(name) + os.sep for name in ("stdlib", "platstdlib", "purelib", "platlib")})
_looks, _look_seconds = 8, 0.025


@dataclass(frozen=True)
class Finding:
    """What was seen of the loop's thread while it was behind."""

    place: str | None
    """The line of the project that was under way all the time; None when there was none."""
    used: float
    """How much of the time the thread had a processor, from 0 to 1."""
    is_ready: bool
    """It would have gone on, had it been given a processor."""


class LoopThread:
    """Made on the thread of the loop; looked at from another."""

    def __init__(self) -> None:
        self._ident = threading.get_ident()
        self._native = threading.get_native_id()
        self._clock = time.pthread_getcpuclockid(self._ident) if hasattr(time, "pthread_getcpuclockid") else None

    def processor_seconds(self) -> float | None:
        return None if self._clock is None else time.clock_gettime(self._clock)

    def look(self, is_behind: Callable[[], bool], since: float, used_then: float | None) -> Finding | None:
        """Looks several times; None when the loop went on meanwhile."""
        first: FrameType | None = None
        place: str | None = None
        ready = 0
        for number in range(_looks):
            frame = sys._current_frames().get(self._ident)
            outer, inner = project_frames(frame)
            if number == 0:
                first, place = outer, _line(inner)
            elif outer is not first:
                place = None
            ready += self._is_ready()
            del frame, outer, inner
            time.sleep(_look_seconds)
            if not is_behind():
                return None
        used = self.processor_seconds()
        share = 1.0 if used is None or used_then is None else (used - used_then) / (time.monotonic() - since)
        return Finding(place, share, ready > _looks / 2)

    def _is_ready(self) -> bool:
        """Linux tells whether a thread waits for something or for a processor."""
        try:
            with open(f"/proc/self/task/{self._native}/stat", "rb") as file:
                return file.read().rpartition(b") ")[2][:1] == b"R"
        except OSError:
            return False


def advice(finding: Finding, seconds: float, calls: int) -> str:
    """Blames the graph only for what it was seen to do."""
    is_starved = finding.is_ready and finding.used < 0.5
    if finding.place is not None and not is_starved:
        return (
            f"The event loop has been blocked for more than {seconds:g} s at {finding.place}. Other runs of this "
            "worker wait meanwhile: make the node synchronous, or call it with asyncio.to_thread."
        )
    why = (
        "this machine has more to do than its processors can"
        if is_starved
        else "it has more to do than one process can, or synchronous nodes leave it no time"
    )
    return (
        f"The event loop is more than {seconds:g} s behind, with {calls} calls under way and {finding.used:.0%} of a "
        f"processor. No line of the project was seen to block it: {why}. Fewer runs at a time, more processors, or "
        "more processes (TREADLE_PYTHON_WORKERS) help."
    )


def project_frames(frame: FrameType | None) -> tuple[FrameType | None, FrameType | None]:
    """The outermost and the innermost frame of the project's own code."""
    outer: FrameType | None = None
    inner: FrameType | None = None
    while frame is not None:
        if _is_project(frame.f_code.co_filename):
            inner = inner or frame
            outer = frame
        frame = frame.f_back
    return outer, inner


def _is_project(path: str) -> bool:
    return "site-packages" not in path and not path.startswith((_own, "<", *_installed))


def _line(frame: FrameType | None) -> str | None:
    return f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else None
