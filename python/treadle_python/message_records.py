"""Messages as the records that both languages store, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .json_text import Json

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

Convert = Callable[[Any], Any]

_class_names = (
    "HumanMessage",
    "AIMessage",
    "AIMessageChunk",
    "SystemMessage",
    "ToolMessage",
    "FunctionMessage",
    "ChatMessage",
    "RemoveMessage",
)
_wire_types = {
    "HumanMessage": "human",
    "AIMessage": "ai",
    "SystemMessage": "system",
    "ToolMessage": "tool",
    "FunctionMessage": "function",
    "ChatMessage": "generic",
    "RemoveMessage": "remove",
}
_order = (
    "content",
    "name",
    "role",
    "tool_call_id",
    "status",
    "artifact",
    "tool_calls",
    "usage_metadata",
    "invalid_tool_calls",
    "tool_call_chunks",
    "additional_kwargs",
    "response_metadata",
    "id",
)
"""As JavaScript writes the fields: what both can write, they write with the same bytes."""
_always = frozenset(
    ("content", "tool_calls", "invalid_tool_calls", "tool_call_chunks", "additional_kwargs", "response_metadata")
)
_left_out = frozenset(("type", "example", "is_chunk", "chunk_position"))


class MessageKind:
    """One class of messages."""

    __slots__ = ("create", "defaults", "field_names", "fields", "id", "mutable", "required", "wire_type")

    def __init__(self, name: str, create: type[BaseMessage]) -> None:
        self.create = create
        self.id = ["langchain_core", "messages", name]
        self.wire_type = _wire_types[name.removesuffix("Chunk")]
        known = create.model_fields
        first = [field for field in _order if field in known]
        others = [field for field in known if field not in _order and field not in _left_out]
        self.fields: tuple[tuple[str, bool], ...] = tuple(
            (field, field in _always) for field in [*first[:-1], *others, *first[-1:]]
        )
        self.field_names = frozenset(known) - _left_out
        self.defaults = {
            field: info.get_default(call_default_factory=True)
            for field, info in known.items()
            if not info.is_required()
        }
        self.mutable = tuple(name for name, value in self.defaults.items() if isinstance(value, (dict, list)))
        self.required = frozenset(name for name, info in known.items() if info.is_required())

    def kwargs(self, message: BaseMessage, convert: Convert) -> Json:
        """The fields that say something, in the common order."""
        values = message.__dict__
        kwargs: Json = {}
        for field, is_always in self.fields:
            value = values.get(field)
            if value.__class__ is str:
                if value != "success" or field != "status" or field in message.__pydantic_fields_set__:
                    kwargs[field] = value
            elif value is None:
                continue
            elif not value:
                if is_always:
                    kwargs[field] = value
            else:
                kwargs[field] = convert(value)
        extra = message.__pydantic_extra__
        if extra:
            for field, value in extra.items():
                if value is not None:
                    kwargs[field] = convert(value)
        if self.wire_type == "remove":
            # JavaScript gives one the content it never has.
            return {"id": kwargs.pop("id", None), **kwargs, "content": kwargs["content"] or []}
        return kwargs

    def record(self, message: BaseMessage, convert: Convert) -> Json:
        kwargs = self.kwargs(message, convert)
        return {"lc": 1, "type": "constructor", "id": self.id, "kwargs": kwargs}

    def wire(self, message: BaseMessage, convert: Convert) -> Json:
        """Flat, as it goes out over HTTP."""
        flat = self.kwargs(message, convert)
        flat["type"] = self.wire_type
        return flat

    def revive(self, kwargs: Json) -> BaseMessage | None:
        """None when the class does not take these fields."""
        if self.wire_type == "remove":
            kwargs = {name: value for name, value in kwargs.items() if name != "content"}
            return self._make(kwargs)
        content = kwargs.get("content")
        is_plain = content.__class__ is str or content.__class__ is list
        if not is_plain or not self.field_names.issuperset(kwargs) or not self.required.issubset(kwargs):
            return self._make(kwargs)
        if not _has_valid(kwargs):
            return self._make(kwargs)
        values = {**self.defaults, **kwargs}
        for name in self.mutable:
            if name not in kwargs:
                values[name] = self.defaults[name].copy()
        message = self.create.__new__(self.create)
        put = object.__setattr__
        put(message, "__dict__", values)
        put(message, "__pydantic_fields_set__", set(kwargs))
        put(message, "__pydantic_extra__", {})
        put(message, "__pydantic_private__", None)
        return message

    def _make(self, kwargs: Json) -> BaseMessage | None:
        if "content" in kwargs and "content_blocks" in kwargs:
            kwargs = {name: value for name, value in kwargs.items() if name != "content_blocks"}
        try:
            return self.create(**kwargs)
        except Exception:
            return None


_types: dict[str, tuple[type, ...]] = {
    "additional_kwargs": (dict,),
    "response_metadata": (dict,),
    "tool_calls": (list,),
    "invalid_tool_calls": (list,),
    "tool_call_chunks": (list,),
    "tool_call_id": (str,),
    "role": (str,),
    "name": (str, type(None)),
    "id": (str, type(None)),
    "usage_metadata": (dict, type(None)),
}


def _has_valid(values: Json) -> bool:
    """Whether the fields have the types that the class's own checks would see to."""
    for name, value in values.items():
        types = _types.get(name)
        if types is not None and value.__class__ not in types:
            return False
    return values.get("status", "success") in ("success", "error")


class MessageKinds:
    """The classes of the project's copy of the library."""

    def __init__(self) -> None:
        from langchain_core import messages

        self.by_class: dict[type, MessageKind] = {}
        self.by_name: dict[str, MessageKind] = {}
        for name in _class_names:
            create = getattr(messages, name, None)
            if create is not None:
                kind = MessageKind(name, create)
                self.by_class[create] = kind
                self.by_name[name] = kind

    def revive(self, record: Json) -> BaseMessage | None:
        """None when the record is not one of a message."""
        place, kwargs = record.get("id"), record.get("kwargs")
        if record.get("type") != "constructor" or not isinstance(place, list) or not isinstance(kwargs, dict):
            return None
        if len(place) != 3 or place[0] != "langchain_core" or place[1] != "messages":
            return None
        kind = self.by_name.get(place[2]) if isinstance(place[2], str) else None
        return kind.revive(kwargs) if kind else None
