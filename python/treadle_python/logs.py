"""What the project prints and logs becomes log lines of the server, with the run they belong to."""

from __future__ import annotations

import io
import logging
import os
import threading
from collections.abc import Callable
from typing import TextIO

from .calls import current_run
from .json_text import Json

MOST_WAITING = 10_000
LONGEST_LINE = 64 * 1024

LogSink = Callable[[Json], None]
"""Takes a line on the event loop's thread."""


class LogLines:
    """Carries lines from any thread to the event loop. When it falls behind, they go to the process's own output."""

    def __init__(self, sink: LogSink, call_soon: Callable[[Callable[[], None]], object]) -> None:
        self._sink = sink
        self._call_soon = call_soon
        self._lock = threading.Lock()
        self._waiting: list[Json] = []

    def add(self, level: str, logger: str, message: str) -> None:
        line: Json = {"level": level, "logger": logger, "message": message[:LONGEST_LINE]}
        run = current_run.get()
        if run is not None:
            line["runId"] = run
        with self._lock:
            is_first = not self._waiting
            is_full = len(self._waiting) >= MOST_WAITING
            if not is_full:
                self._waiting.append(line)
        if is_full:
            os.write(2, f"{line['message']}\n".encode(errors="replace"))
        elif is_first:
            try:
                self._call_soon(self._send)
            except RuntimeError:  # The loop is closed: the process ends.
                os.write(2, f"{line['message']}\n".encode(errors="replace"))

    def _send(self) -> None:
        with self._lock:
            lines, self._waiting = self._waiting, []
        for line in lines:
            self._sink(line)


class PrintedLines(io.TextIOBase):
    """In the place of `sys.stdout` or `sys.stderr`: whole lines become log lines."""

    def __init__(self, lines: LogLines, name: str, original: TextIO) -> None:
        self._lines = lines
        self._name = name
        self._level = "info" if name == "stdout" else "warn"
        self._original = original
        self._parts = threading.local()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    @property
    def buffer(self) -> object:
        """Bytes go out as they are; the server makes lines of them."""
        return self._original.buffer

    def fileno(self) -> int:
        return self._original.fileno()

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        begun: str = getattr(self._parts, "text", "") + text
        *whole, rest = begun.split("\n")
        if len(rest) > LONGEST_LINE:
            whole, rest = [*whole, rest], ""
        self._parts.text = rest
        for line in whole:
            if line.strip():
                self._lines.add(self._level, self._name, line.rstrip("\r"))
        return len(text)

    def flush(self) -> None:
        rest: str = getattr(self._parts, "text", "")
        if rest.strip():
            self._parts.text = ""
            self._lines.add(self._level, self._name, rest)


class LogHandler(logging.Handler):
    """For the root logger."""

    def __init__(self, lines: LogLines) -> None:
        super().__init__()
        self._lines = lines
        self.setFormatter(logging.Formatter("%(message)s"))

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.add(_level(record.levelno), record.name, self.format(record))
        except Exception:
            self.handleError(record)


def _level(number: int) -> str:
    if number >= logging.CRITICAL:
        return "fatal"
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    return "info" if number >= logging.INFO else "debug"
