"""Values of a state that go through a graph unread: the server has their text and puts it into its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .json_text import Json

if TYPE_CHECKING:
    from langgraph.pregel import Pregel


class Carried:
    """In the place of a value. The server knows it by its number."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


class CarriedInside(Exception):
    """A value that was not to be looked into is part of another one: the state is to be read with all its values."""


def carried_channels(graph: Pregel[Any, Any, Any, Any]) -> frozenset[str]:
    """The channels whose values the graph does not look into while it computes a state."""
    from langgraph.channels import BinaryOperatorAggregate, LastValue

    if getattr(graph, "cache_policy", None) is not None or any(map(_looks_inside, graph.nodes.values())):
        return frozenset()
    # Subclasses are their author's: only these hand out what they were given, whatever it is.
    kinds = (LastValue, BinaryOperatorAggregate)
    return frozenset(name for name, channel in graph.channels.items() if type(channel) in kinds)


def is_repeatable(graph: Pregel[Any, Any, Any, Any]) -> bool:
    """One checkpoint gives the same state each time: no channel has a part in it that is its author's."""
    return all(map(_is_stored, graph.channels.values()))


def _is_stored(channel: Any) -> bool:
    kind = type(channel)
    # Differences are stored with earlier checkpoints.
    if not kind.__module__.startswith("langgraph.channels.") or kind.__name__ == "DeltaChannel":
        return False
    # What it begins with, its type makes: nothing, or an empty list, dict and the like.
    value = getattr(channel, "value", None)
    return type(value) is object or (type(value).__module__ == "builtins" and not value)


def _looks_inside(node: Any) -> bool:
    """Makes an object of its input, or a key for the cache."""
    return getattr(node, "mapper", None) is not None or getattr(node, "cache_policy", None) is not None


def take_carried(fields: Json) -> Json:
    """Where the server is to put values into the snapshot, by number. There is nothing in their place."""
    values = fields["values"]
    if isinstance(values, Carried):
        fields["values"] = None
        return {"root": values.number}
    if not isinstance(values, dict):
        return {}
    carried = {name: value.number for name, value in values.items() if isinstance(value, Carried)}
    if not carried:
        return {}
    fields["values"] = {name: None if name in carried else value for name, value in values.items()}
    return {"carried": carried}
