"""Commands of a client, as the graph library takes them."""

from __future__ import annotations

from typing import Any

from .json_text import Json


def to_command(command: Json) -> Any:
    from langgraph.types import Command

    fields: Json = {}
    if command.get("resume") is not None:
        fields["resume"] = command["resume"]
    if command.get("update") is not None:
        fields["update"] = _updates(command["update"])
    goto = command.get("goto")
    if goto is not None:
        fields["goto"] = [_step(one) for one in (goto if isinstance(goto, list) else [goto])]
    return Command(**fields)


def _updates(update: Any) -> Any:
    """Pairs come as lists, which the library takes only as tuples."""
    is_pairs = isinstance(update, list) and all(isinstance(one, list) and len(one) == 2 for one in update)
    return [(one[0], one[1]) for one in update] if is_pairs else update


def _step(step: Any) -> Any:
    from langgraph.types import Send

    return step if isinstance(step, str) else Send(step["node"], step.get("input"))
