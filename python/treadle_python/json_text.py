"""JSON for the frames' own fields, with the fastest encoder that is at hand."""

from __future__ import annotations

import json
from typing import Any

try:
    import orjson as orjson
except ImportError:  # The library brings it; without the library there is nothing to be fast for.
    orjson = None  # type: ignore[assignment]

Json = dict[str, Any]


def dumps(value: Any) -> bytes:
    """Compact UTF-8. Takes lone surrogates and large integers, which the fast encoder refuses."""
    if orjson is not None:
        try:
            return orjson.dumps(value)
        except TypeError:
            pass
    return slow_dumps(value)


def slow_dumps(value: Any) -> bytes:
    """As `JSON.stringify` writes it: lone surrogates as escapes, no number JSON has no word for."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        return text.encode()
    except UnicodeEncodeError:
        return _escape_surrogates(text).encode()


def _escape_surrogates(text: str) -> str:
    # Two halves that stand beside each other are one character to JavaScript.
    joined = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in joined)


def loads(text: bytes | str) -> Any:
    """Also takes lone surrogates, which the fast decoder refuses."""
    if orjson is not None:
        try:
            return orjson.loads(text)
        except orjson.JSONDecodeError:
            pass
    return json.loads(text)


def loads_meta(text: bytes) -> Json:
    """The fields of a message; an empty segment has none."""
    if not text:
        return {}
    value = loads(text)
    if not isinstance(value, dict):
        raise ValueError("the first segment of a message must be a JSON object")
    return value
