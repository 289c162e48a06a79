"""Wire JSON: any state, update or event as it goes out over HTTP, with messages flat."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import math
import re
from typing import Any

from .carried import Carried, CarriedInside
from .json_text import Json, orjson, slow_dumps
from .message_records import MessageKinds

_hidden_types = (type(lambda: None), type(len), type)


class Wire:
    """The fast encoder does what it can; what it does not know, it asks `_default` for."""

    def __init__(self, kinds: MessageKinds) -> None:
        from langchain_core.messages import BaseMessage
        from langgraph.types import Interrupt, Send

        self._interrupt, self._send = Interrupt, Send
        self._by_class = kinds.by_class
        self._by_name = kinds.by_name
        self._base_message = BaseMessage
        self._options = 0
        if orjson is not None:
            self._options = (
                orjson.OPT_NON_STR_KEYS
                | orjson.OPT_PASSTHROUGH_DATACLASS
                | orjson.OPT_PASSTHROUGH_DATETIME
                | orjson.OPT_SERIALIZE_NUMPY
            )

    def dumps(self, value: Any) -> bytes:
        if orjson is not None:
            try:
                return orjson.dumps(value, self._default, self._options)
            except (TypeError, RecursionError):
                # Lone surrogates, huge integers, cycles, keys of odd types.
                pass
        return slow_dumps(self._tree(value, []))

    def _default(self, value: Any) -> Any:
        kind = value.__class__
        message = self._by_class.get(kind)
        if message is not None:
            return message.wire(value, _same)
        return self._other(value)

    def _other(self, value: Any) -> Any:
        """One level of a value that JSON does not have."""
        if isinstance(value, self._base_message):
            return self._subclassed(value)
        if isinstance(value, self._interrupt):
            return interrupt_fields(value)
        if isinstance(value, Carried):
            raise CarriedInside
        if isinstance(value, self._send):
            return {"node": value.node, "args": value.arg}
        if isinstance(value, (set, frozenset)):
            return sorted(value, key=repr)
        if isinstance(value, (bytes, bytearray)):
            return base64.b64encode(value).decode()
        if isinstance(value, BaseException):
            return {"error": type(value).__name__, "message": str(value)}
        if isinstance(value, datetime.datetime):
            return value.isoformat()
        if isinstance(value, (datetime.date, datetime.time)):
            return value.isoformat()
        if isinstance(value, datetime.timedelta):
            return value.total_seconds()
        if isinstance(value, re.Pattern):
            return value.pattern
        if isinstance(value, decimal.Decimal):
            return str(value)
        return self._structured(value)

    def _structured(self, value: Any) -> Any:
        if hasattr(value, "model_dump") and not isinstance(value, type):
            fields = {name: getattr(value, name) for name in type(value).model_fields}
            return {**fields, **(value.__pydantic_extra__ or {})}
        if hasattr(value, "get_secret_value"):
            return str(value)
        if hasattr(value, "_asdict"):
            return value._asdict()
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {field.name: getattr(value, field.name, None) for field in dataclasses.fields(value)}
        if hasattr(value, "tolist"):
            return value.tolist()
        if isinstance(value, enum.Enum):
            return value.value
        if isinstance(value, _hidden_types) or callable(value):
            return None
        if hasattr(value, "dict") and callable(value.dict):
            return value.dict()
        if isinstance(value, (str, int, float)):
            return value.__class__.__mro__[1](value)
        if hasattr(value, "keys") and hasattr(value, "__getitem__"):
            return {key: value[key] for key in value.keys()}  # noqa: SIM118
        if hasattr(value, "__iter__"):
            return list(value)
        return str(value)

    def _subclassed(self, message: Any) -> Json:
        """Chunks of other classes, and classes of the project's own."""
        for ancestor in type(message).__mro__:
            known = self._by_class.get(ancestor) or self._by_name.get(ancestor.__name__.removesuffix("Chunk"))
            if known is not None:
                return known.wire(message, _same)
        fields = dict(message.__dict__)
        return {name: value for name, value in fields.items() if value is not None}

    def _tree(self, value: Any, ancestors: list[int]) -> Any:
        """The slow way: takes everything."""
        kind = value.__class__
        if kind is str or value is None or kind is bool:
            return value
        if kind is int:
            # As JavaScript reads it: what it cannot hold exactly is text.
            return value if -(2**64) < value < 2**64 else str(value)
        if kind is float:
            return value if math.isfinite(value) else None
        if id(value) in ancestors:
            return "[Circular]"
        inner = [*ancestors, id(value)]
        if isinstance(value, dict):
            return {_key(key): self._tree(item, inner) for key, item in value.items()}
        if isinstance(value, (list, tuple)) and not hasattr(value, "_asdict"):
            return [self._tree(item, inner) for item in value]
        if isinstance(value, enum.Enum):
            return self._tree(value.value, inner)
        return self._tree(self._default(value), inner)


def interrupt_fields(interrupt: Any) -> Json:
    """As JavaScript has them; a schema of the answer only where the graph gave one."""
    schema = getattr(interrupt, "response_schema", None)
    fields = {"id": interrupt.id, "value": interrupt.value}
    return {**fields, "response_schema": schema} if isinstance(schema, dict) else fields


def _same(value: Any) -> Any:
    return value


def _key(key: Any) -> str:
    if isinstance(key, str):
        return str(key)
    if key is None or isinstance(key, bool):
        return {None: "null", True: "true", False: "false"}[key]
    return str(key.value) if isinstance(key, enum.Enum) else str(key)
