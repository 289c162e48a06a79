"""The stored format: one JSON for both languages, and a form beside it for values that only Python has."""

from __future__ import annotations

import base64
import math
import re
from dataclasses import dataclass
from typing import Any

from .json_text import Json, loads, orjson, slow_dumps
from .message_records import MessageKinds
from .value_records import (
    bytes_record,
    error_record,
    map_record,
    pattern_record,
    revive_value,
    set_record,
)
from .wire import Wire, interrupt_fields

LARGEST_INTEGER = 2**53
DEEPEST = 100
TASKS = "__pregel_tasks"
INTERRUPT = "__interrupt__"
ERROR = "__error__"


_containers = (dict, list)


class NotPlain(Exception):
    """Only Python has this value. Never leaves this file."""


class Unserializable(TypeError):
    """A value that cannot be stored at all; says where it is."""


@dataclass(slots=True)
class Payload:
    """`json`: JSON text. `bytes`: base64. `python`: a view for everybody and the value for Python."""

    type: str
    text: bytes


class Codec:
    """For one process; `serializer` is the library's own, asked for what only Python has."""

    def __init__(self, serializer: Any) -> None:
        from langgraph.types import Interrupt, Send

        self._serializer = serializer
        self._kinds = MessageKinds()
        self._by_class = self._kinds.by_class
        self._send, self._interrupt = Send, Interrupt
        self._delta = _delta_snapshot_class()
        self.wire = Wire(self._kinds)

    # Writing.

    def encode(self, value: Any, channel: str = "", where: str = "") -> Payload:
        """`where` is told when it fails."""
        if value.__class__ in (bytes, bytearray):
            return Payload("bytes", base64.b64encode(value))
        try:
            return Payload("json", self._text(self._special(value, channel)))
        except NotPlain:
            return self._encode_python(value, channel, where)

    def encode_plain(self, value: Any) -> bytes:
        """For what the library itself keeps beside values: the structure of a checkpoint and its metadata."""
        try:
            return self._text(value)
        except NotPlain:
            return self.wire.dumps(value)

    def _text(self, value: Any) -> bytes:
        tree = self._plain(value, 0)
        if orjson is not None:
            try:
                return orjson.dumps(tree)
            except TypeError:
                # Lone surrogates.
                pass
        return slow_dumps(tree)

    def _special(self, value: Any, channel: str) -> Any:
        """Of the library's own channels: records that JavaScript reads as its own."""
        if channel == TASKS:
            if isinstance(value, self._send):
                return self._send_fields(value)
            if isinstance(value, (list, tuple)):
                return [self._send_fields(one) if isinstance(one, self._send) else one for one in value]
        elif channel == INTERRUPT and isinstance(value, (list, tuple)):
            return [self._interrupt_fields(one) for one in value]
        elif channel == INTERRUPT:
            return self._interrupt_fields(value)
        elif channel == ERROR and isinstance(value, BaseException):
            return {"message": str(value), "name": type(value).__name__}
        return value

    def _send_fields(self, send: Any) -> Json:
        return {"node": send.node, "args": send.arg}

    def _interrupt_fields(self, value: Any) -> Any:
        if not isinstance(value, self._interrupt):
            return value
        return interrupt_fields(value)

    def _plain(self, value: Any, depth: int) -> Any:
        kind = value.__class__
        if kind is str or value is None or kind is bool:
            return value
        if kind is int:
            if -LARGEST_INTEGER < value < LARGEST_INTEGER:
                return value
            raise NotPlain
        if kind is float:
            if math.isfinite(value):
                return value
            raise NotPlain
        if depth > DEEPEST:
            raise NotPlain
        if kind is dict:
            return self._plain_dict(value, depth + 1)
        if kind is list or kind is tuple:
            return [self._plain(item, depth + 1) for item in value]
        message = self._by_class.get(kind)
        if message is not None:
            return message.record(value, lambda item: self._plain(item, depth + 1))
        return self._plain_other(value, depth + 1)

    def _plain_dict(self, value: dict[Any, Any], depth: int) -> Json:
        copy: Json = {}
        for key, item in value.items():
            if key.__class__ is not str:
                return map_record(value, lambda one: self._plain(one, depth))
            inner = item.__class__
            copy[key] = item if inner is str or inner is bool or item is None else self._plain(item, depth)
        return copy

    def _plain_other(self, value: Any, depth: int) -> Any:
        kind = value.__class__
        if kind is set:
            return set_record(value, lambda item: self._plain(item, depth))
        if kind is bytes:
            return bytes_record(value)
        if kind is re.Pattern and isinstance(value.pattern, str):
            record = pattern_record(value)
            if record is not None:
                return record
        if isinstance(value, BaseException):
            return error_record(value)
        if self._delta is not None and kind is self._delta:
            return {"lc": 2, "type": "delta_snapshot", "value": self._plain(value.value, depth)}
        raise NotPlain

    def _encode_python(self, value: Any, channel: str, where: str) -> Payload:
        try:
            kind, data = self._serializer.dumps_typed(value)
        except Exception as error:
            raise self._unserializable(value, channel, where, error) from error
        view = self.wire.dumps(value)
        packed = base64.b64encode(data)
        if kind != "msgpack":
            raise self._unserializable(value, channel, where, TypeError(f"it would be stored as {kind}"))
        return Payload("python", b'{"view":' + view + b',"data":"' + packed + b'"}')

    def _unserializable(self, value: Any, channel: str, where: str, error: Exception) -> Unserializable:
        path, culprit = self._culprit(value, channel)
        name = f"{type(culprit).__module__}.{type(culprit).__qualname__}"
        return Unserializable(
            f"{where}the value at {path} is a {name}, which cannot be stored in a checkpoint ({error}). Keep it out of "
            "the state, or keep plain data that it can be made from."
        )

    def _culprit(self, value: Any, path: str) -> tuple[str, Any]:
        """The innermost value that cannot be stored."""
        for step, inner in _children(value):
            try:
                self._serializer.dumps_typed(inner)
            except Exception:
                return self._culprit(inner, f"{path}{step}")
        return path or "the root", value

    # Reading.

    def decode(self, payload_type: str, text: bytes, channel: str = "") -> Any:
        if payload_type == "bytes":
            return base64.b64decode(text)
        if payload_type == "python":
            data = loads(text)["data"]
            return self._serializer.loads_typed(("msgpack", base64.b64decode(data)))
        if payload_type != "json":
            raise ValueError(f"a value was stored as {payload_type!r}, which this version cannot read")
        value = loads(text)
        if b'"lc"' in text:
            value = self._revive(value)
        return self._revive_special(value, channel) if channel else value

    def _revive(self, value: Any) -> Any:
        """Works on freshly parsed JSON and changes it in place."""
        if value.__class__ is list:
            for at, item in enumerate(value):
                if item and item.__class__ in _containers:
                    value[at] = self._revive(item)
            return value
        if value.__class__ is not dict:
            return value
        mark = value.get("lc")
        inner = value.get("kwargs") if mark == 1 else value
        if inner.__class__ is dict:
            for key, item in inner.items():
                if item and item.__class__ in _containers:
                    inner[key] = self._revive(item)
        return self._revive_record(value) if mark == 1 or mark == 2 else value

    def _revive_record(self, record: Json) -> Any:
        """Data that only looks like a record stays data: otherwise a client could make its thread unreadable."""
        if record["lc"] == 2:
            if record.get("type") == "delta_snapshot" and self._delta is not None and "value" in record:
                return self._delta(record["value"])
            known, value = revive_value(record)
            return value if known else record
        message = self._kinds.revive(record)
        return message if message is not None else record

    def _revive_special(self, value: Any, channel: str) -> Any:
        if channel == TASKS:
            if isinstance(value, list):
                return [self._to_send(one) for one in value]
            return self._to_send(value)
        if channel == INTERRUPT:
            if isinstance(value, list):
                return [self._to_interrupt(one) for one in value]
            return self._to_interrupt(value)
        if channel.startswith("join:") and isinstance(value, list):
            # JavaScript keeps who has arrived as a list.
            return set(value)
        return value

    def _to_send(self, value: Any) -> Any:
        if isinstance(value, dict) and "node" in value:
            return self._send(value["node"], value.get("args"))
        return value

    def _to_interrupt(self, value: Any) -> Any:
        if not isinstance(value, dict) or "value" not in value:
            return value
        made = self._interrupt(value["value"], **({"id": value["id"]} if value.get("id") else {}))
        if value.get("response_schema") and hasattr(made, "response_schema"):
            made.response_schema = value["response_schema"]
        return made


def _delta_snapshot_class() -> Any:
    try:
        from langgraph.checkpoint.serde.types import _DeltaSnapshot
    except ImportError:
        return None
    return _DeltaSnapshot


def _children(value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [(f"[{key!r}]", item) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [(f"[{at}]", item) for at, item in enumerate(value)]
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, dict) and (hasattr(value, "model_fields") or hasattr(value, "__dataclass_fields__")):
        return [(f".{name}", item) for name, item in fields.items()]
    return []
