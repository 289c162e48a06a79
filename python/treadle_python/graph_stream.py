"""What a graph yields, in one form for every version of the library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from .json_text import Json
from .run_events import HIDDEN_TAG, INTERRUPT
from .tool_events import ToolEvents

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

Chunk = tuple[Sequence[str], str, Any]
"""Namespace, mode, payload; the mode `events` has a callback event."""

_protocol_modes = ("values", "updates", "messages", "tools", "custom", "tasks")


class GraphStream:
    """The stream of one run. `protocol`: everything is streamed, at every level."""

    def __init__(self, run_id: str, stream_mode: Sequence[str], subgraphs: bool, protocol: bool) -> None:
        self._run_id = run_id
        self._asked = stream_mode
        self._subgraphs = subgraphs or protocol
        self._protocol = protocol
        self._tools = ToolEvents()

    async def chunks(self, graph: Graph, given: Any, config: Any, options: Json) -> AsyncIterator[Chunk]:
        options = {**options, "stream_mode": self._modes(), "subgraphs": self._subgraphs}
        if "events" in self._asked:
            stream: Any = graph.astream_events(given, config, version="v2", **options)
            async for event in stream:
                if event["event"] == "on_chain_stream" and event["run_id"] == self._run_id:
                    yield self._chunk(event["data"]["chunk"])
                elif HIDDEN_TAG not in (event.get("tags") or ()):
                    yield (), "events", event
            return
        if self._speaks_blocks():
            key = _blocks_key()
            if key is not None:
                config = {**config, "configurable": {**config["configurable"], key: True}}
                options["version"] = "v2"
        async for part in graph.astream(given, config, **options):
            yield self._chunk(part)

    def _speaks_blocks(self) -> bool:
        """In content blocks, as the protocol does; a client of the older modes wants message chunks."""
        return self._protocol and not any(mode.startswith("messages") for mode in self._asked)

    def _modes(self) -> list[str]:
        modes = dict.fromkeys(_protocol_modes if self._protocol else ("values",))
        for mode in self._asked:
            if mode == "messages-tuple":
                modes["messages"] = None
            elif mode != "events":
                modes[mode] = None
        return [mode for mode in modes if mode != "tools" or _streams_tools()]

    def _chunk(self, part: Any) -> Chunk:
        namespace: Sequence[str] = ()
        if isinstance(part, dict):
            namespace, mode, payload = part["ns"], part["type"], _with_interrupts(part)
        elif self._subgraphs:
            namespace, mode, payload = part
        else:
            mode, payload = part
        if mode == "tools":
            payload = self._tools.told(payload)
        return namespace or (), mode, payload


def message_form(message: Any) -> str:
    """What the payload of the mode `messages` begins with: an event of content blocks, a piece, or all of a message."""
    from langchain_core.messages import BaseMessageChunk

    if isinstance(message, dict):
        return "event"
    is_piece = isinstance(message, BaseMessageChunk) and getattr(message, "chunk_position", None) != "last"
    return "piece" if is_piece else "whole"


def _with_interrupts(part: Any) -> Any:
    """The newer form has what the graph asks beside the values."""
    interrupts = part.get("interrupts")
    if not interrupts:
        return part["data"]
    values = part["data"] if isinstance(part["data"], dict) else {}
    return {**values, INTERRUPT: list(interrupts)}


def _blocks_key() -> str | None:
    """The setting by which the library speaks in content blocks; None before it could."""
    try:
        from langgraph._internal._constants import CONFIG_KEY_STREAM_MESSAGES_V2
    except ImportError:
        return None
    return str(CONFIG_KEY_STREAM_MESSAGES_V2)


def _streams_tools() -> bool:
    try:
        import langgraph.pregel._tools  # noqa: F401
    except ImportError:
        return False
    return True
