"""Failures as the other side reads them, and failures it tells us about."""

from __future__ import annotations

import traceback
from typing import Any

from .json_text import Json


class RemoteError(Exception):
    """What the server answered instead of doing what it was asked."""

    def __init__(self, meta: Json) -> None:
        self.meta = meta
        self.type = str(meta.get("type", "Error"))
        self.code: str | None = meta.get("code")
        super().__init__(str(meta.get("message", "the server failed without saying why")))


class CallError(Exception):
    """A failure with fields of its own for whoever called."""

    def __init__(self, message: str, *, kind: str = "Error", **fields: Any) -> None:
        super().__init__(message)
        self.fields: Json = {"type": kind, "message": message, **fields}


def error_meta(error: BaseException) -> Json:
    """Class and text of the exception, as a client of a failed run reads them, and where it was raised."""
    if isinstance(error, CallError):
        return dict(error.fields)
    if isinstance(error, RemoteError):
        return dict(error.meta)
    return {
        "type": type(error).__name__,
        "message": str(error),
        "traceback": "".join(traceback.format_exception(error))[-20_000:],
    }
