"""Records for values that JSON does not have and both languages do: sets, maps, patterns, bytes, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .json_text import Json

Convert = Callable[[Any], Any]

_flags = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))


def constructor(name: str, *args: Any, method: str | None = None) -> Json:
    return {"lc": 2, "type": "constructor", "id": [name], "method": method, "args": list(args), "kwargs": {}}


def set_record(value: set[Any] | frozenset[Any], convert: Convert) -> Json:
    """In an order that does not depend on the process."""
    items = [convert(item) for item in value]
    try:
        items.sort()
    except TypeError:
        items.sort(key=repr)
    return constructor("Set", items)


def map_record(value: dict[Any, Any], convert: Convert) -> Json:
    """For dictionaries whose keys are not all text."""
    return constructor("Map", [[convert(key), convert(item)] for key, item in value.items()])


def bytes_record(value: bytes | bytearray) -> Json:
    return constructor("Uint8Array", list(value), method="from")


def pattern_record(value: re.Pattern[str]) -> Json | None:
    """None for flags JavaScript does not have."""
    known = re.UNICODE
    letters = ""
    for flag, letter in _flags:
        known |= flag
        if value.flags & flag:
            letters += letter
    return constructor("RegExp", value.pattern, letters) if not value.flags & ~known else None


def error_record(value: BaseException) -> Json:
    return constructor("Error", str(value))


def revive_value(record: Json) -> tuple[bool, Any]:
    """Whether it is such a record, and its value."""
    if record.get("type") == "undefined":
        return True, None
    name = record.get("id")
    args = record.get("args")
    if not isinstance(name, list) or len(name) != 1 or not isinstance(args, list) or not args:
        return False, None
    try:
        return _revive(name[0], args)
    except (TypeError, ValueError, re.error):
        return False, None


def _revive(name: Any, args: list[Any]) -> tuple[bool, Any]:
    first = args[0]
    if name == "Set" and isinstance(first, list):
        return True, set(first)
    if name == "Map" and isinstance(first, list):
        return True, {key: value for key, value in first}  # noqa: C416
    if name == "Uint8Array" and isinstance(first, list):
        return True, bytes(first)
    if name == "Error":
        return True, Exception(str(first))
    if name == "RegExp" and isinstance(first, str):
        letters = str(args[1]) if len(args) > 1 else ""
        flags = re.NOFLAG if hasattr(re, "NOFLAG") else re.RegexFlag(0)
        for flag, letter in _flags:
            if letter in letters:
                flags |= flag
        return True, re.compile(first, flags)
    return False, None
