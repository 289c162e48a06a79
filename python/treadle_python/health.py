"""The control socket: a thread of its own answers for the process, also while the event loop is blocked."""

from __future__ import annotations

import asyncio
import faulthandler
import json
import os
import select
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable

from .blocked_loop import LoopThread, advice
from .json_text import Json
from .threads import CallThreads

BEAT_SECONDS = 0.5
LOOK_SECONDS = 1.0
LAG_SECONDS = 1.0
STALL_SECONDS = 20.0
"""Silence of the whole interpreter after which it ends itself, naming the line that holds it."""


class Health:
    """Beats while calls are under way; idle, it has no timer."""

    def __init__(self, sock: socket.socket, threads: CallThreads, warn: Callable[[str], None]) -> None:
        self._sock = sock
        self._threads = threads
        self._warn = warn
        self._loop_thread = threading.get_ident()
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._thread = LoopThread()
        self._beat_at = time.monotonic()
        self._used_then = self._thread.processor_seconds()
        self._warned_at = 0.0
        self._is_armed = False
        self._arming = threading.Lock()
        self._woken, self._wake = os.pipe()
        self._dump_file = os.fdopen(os.dup(2), "w")
        self.stall_seconds = STALL_SECONDS
        self.calls: Callable[[], int] = lambda: 0

    def start(self) -> None:
        """The thread never keeps the process alive."""
        self._sock.setblocking(True)
        threading.Thread(target=self._serve, name="treadle-control", daemon=True).start()

    def set_busy(self, busy: bool) -> None:
        """On the event loop: begins or ends its beat."""
        if busy and self._timer is None:
            self._beat()
            if not self._is_armed:
                # Here and now: code that holds the interpreter would not let the other thread do it.
                self._arm()
                os.write(self._wake, b"x")
        elif not busy and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _beat(self) -> None:
        self._beat_at = time.monotonic()
        self._used_then = self._thread.processor_seconds()
        self._timer = self._loop.call_later(BEAT_SECONDS, self._beat)

    def _lag(self) -> float:
        return max(0.0, time.monotonic() - self._beat_at - BEAT_SECONDS) if self._timer else 0.0

    def _serve(self) -> None:
        buffer = b""
        while True:
            watched: list[socket.socket | int] = [self._sock, self._woken]
            # Well before the timer runs out, however short it is.
            pause = min(LOOK_SECONDS, self.stall_seconds / 3) if self._is_armed else None
            ready = select.select(watched, [], [], pause)[0]
            self._look()
            if self._woken in ready:
                os.read(self._woken, 64)
            if self._sock not in ready:
                continue
            data = self._sock.recv(65536)
            if not data:
                os._exit(0)
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                answer = self._answer(json.loads(line)) if line.strip() else None
                if answer is not None:
                    self._sock.sendall(json.dumps(answer).encode() + b"\n")

    def _look(self) -> None:
        """Lets the timer run out only when the whole interpreter is silent: who holds the GIL keeps us from here."""
        if self.calls() > 0:
            self._arm()
            if self._lag() > LAG_SECONDS and self._warned_at != self._beat_at:
                self._warn_of_lag()
        elif self._is_armed:
            with self._arming:
                if self.calls() == 0:
                    faulthandler.cancel_dump_traceback_later()
                    self._is_armed = False

    def _warn_of_lag(self) -> None:
        self._warned_at = beat = self._beat_at
        finding = self._thread.look(lambda: self._beat_at == beat, beat, self._used_then)
        if finding is not None:
            self._warn(advice(finding, LAG_SECONDS, self.calls()))

    def _arm(self) -> None:
        with self._arming:
            faulthandler.dump_traceback_later(self.stall_seconds, exit=True, file=self._dump_file)
            self._is_armed = True

    def _answer(self, asked: Json) -> Json | None:
        if "ping" in asked:
            return {"pong": asked["ping"], "loop": round(self._lag() * 1000), "calls": self.calls()}
        if "dump" in asked:
            return {"dump": asked["dump"], "stack": self._stacks()}
        if "interrupt" in asked:
            call = int(asked["interrupt"])
            return {"interrupted": call, "found": self._threads.interrupt(call)}
        return None

    def _stacks(self) -> str:
        names = {thread.ident: thread.name for thread in threading.enumerate()}
        working = self._threads.working()
        parts = []
        for ident, frame in sys._current_frames().items():
            if ident == threading.get_ident():
                continue
            name = "event loop" if ident == self._loop_thread else names.get(ident, "thread")
            of_call = f" (call {working[ident]})" if ident in working else ""
            parts.append(f"{name}{of_call}:\n{''.join(traceback.format_stack(frame))}")
        return "\n".join(parts)[-50_000:]
