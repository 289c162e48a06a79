"""A run's context in the form its graph declares."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from typing import Any


def known_context(schema: Any, context: dict[str, Any] | None) -> dict[str, Any] | None:
    """Without the keys the schema does not have: assistants carry settings for more than one graph."""
    if not context:
        return None
    names = _names(schema)
    return context if names is None else {key: value for key, value in context.items() if key in names}


def coerce_context(schema: Any, context: Any) -> Any:
    """An instance of the schema where it is a class; the fields themselves otherwise."""
    if not isinstance(context, dict) or not inspect.isclass(schema) or typing.is_typeddict(schema):
        return context
    if dataclasses.is_dataclass(schema) or hasattr(schema, "model_fields"):
        return schema(**(known_context(schema, context) or {}))
    return context


def _names(schema: Any) -> set[str] | None:
    """None when it takes any."""
    if schema is None:
        return None
    if dataclasses.is_dataclass(schema):
        return {one.name for one in dataclasses.fields(schema) if one.init}
    fields = getattr(schema, "model_fields", None)
    if isinstance(fields, dict):
        if getattr(schema, "model_config", {}).get("extra") == "allow":
            return None
        aliases = {one.alias for one in fields.values() if one.alias}
        return {*fields, *aliases}
    if typing.is_typeddict(schema):
        return set(typing.get_type_hints(schema))
    return None
