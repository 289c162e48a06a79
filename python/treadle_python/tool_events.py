"""Events of the mode `tools` in the words of its wire, which are JavaScript's."""

from __future__ import annotations

from typing import Any

from .json_text import Json

_names = {
    "tool-started": "on_tool_start",
    "tool-output-delta": "on_tool_event",
    "tool-finished": "on_tool_end",
    "tool-error": "on_tool_error",
}
_fields = {"input": "input", "delta": "data", "output": "output", "message": "error"}


class ToolEvents:
    """Remembers the tool of each call under way: later events name the call alone."""

    def __init__(self) -> None:
        self._tools: dict[str, str] = {}

    def told(self, payload: Any) -> Any:
        if not isinstance(payload, dict) or payload.get("event") not in _names:
            return payload
        call, kind = str(payload.get("tool_call_id", "")), payload["event"]
        if kind == "tool-started":
            self._tools[call] = str(payload.get("tool_name") or "unknown")
        name = self._tools.get(call, "unknown")
        if kind in ("tool-finished", "tool-error"):
            self._tools.pop(call, None)
        told: Json = {"event": _names[kind], "toolCallId": call, "name": name}
        return {**told, **{ours: payload[theirs] for theirs, ours in _fields.items() if theirs in payload}}
