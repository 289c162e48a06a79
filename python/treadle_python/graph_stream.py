"""What a graph yields, in one form for every version of the library."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

from .json_text import Json
from .run_events import HIDDEN_TAG
from .tool_events import ToolEvents
from .values_order import Chunk, checkpoints_first, stops_told

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

_protocol_modes = ("values", "updates", "messages", "tools", "custom", "tasks", "checkpoints")


class GraphStream:
    """The stream of one run. `protocol`: everything is streamed, at every level."""

    def __init__(
        self, run_id: str, stream_mode: Sequence[str], subgraphs: bool, protocol: bool, stops_at_nodes: bool
    ) -> None:
        self._run_id = run_id
        self._asked = stream_mode
        self._subgraphs = subgraphs or protocol
        self._protocol = protocol
        self._stops_at_nodes = stops_at_nodes
        self._tools = ToolEvents()

    @property
    def has_updates(self) -> bool:
        """Of a stop before or after a node only they tell; a question is in the values as well."""
        return self._protocol or self._stops_at_nodes or "updates" in self._asked

    def chunks(self, graph: Graph, given: Any, config: Any, options: Json) -> AsyncIterator[Chunk]:
        chunks = stops_told(self._yielded(graph, given, config, options))
        return checkpoints_first(chunks, "checkpoints" in self._asked) if self._protocol else chunks

    async def _yielded(self, graph: Graph, given: Any, config: Any, options: Json) -> AsyncIterator[Chunk]:
        options = {**options, "stream_mode": self._modes(), "subgraphs": self._subgraphs}
        if "events" in self._asked:
            stream: Any = graph.astream_events(given, config, version="v2", **options)
            async for event in stream:
                if event["event"] == "on_chain_stream" and event["run_id"] == self._run_id:
                    yield self._chunk(event["data"]["chunk"])
                elif HIDDEN_TAG not in (event.get("tags") or ()):
                    yield (), "events", event
            return
        async for part in graph.astream(given, config, **options):
            yield self._chunk(part)

    def _modes(self) -> list[str]:
        modes = dict.fromkeys(_protocol_modes if self._protocol else ("values",))
        if self.has_updates:
            modes["updates"] = None
        for mode in self._asked:
            if mode == "messages-tuple":
                modes["messages"] = None
            elif mode != "events":
                modes[mode] = None
        return [mode for mode in modes if mode != "tools" or _streams_tools()]

    def _chunk(self, part: Any) -> Chunk:
        namespace: Sequence[str] = ()
        if self._subgraphs:
            namespace, mode, payload = part
        else:
            mode, payload = part
        if mode == "tools":
            payload = self._tools.told(payload)
        return namespace or (), mode, payload


def may_stop_at_nodes(graph: Graph, options: Json) -> bool:
    """Before or after a node, of its own or of a graph in it."""
    if any(options.get(name) for name in ("interrupt_before", "interrupt_after")):
        return True
    if graph.interrupt_before_nodes or graph.interrupt_after_nodes:
        return True
    return any(node.subgraphs for node in graph.nodes.values())


def message_form(message: Any) -> str:
    """What the payload of the mode `messages` begins with: a piece, or all of a message."""
    from langchain_core.messages import BaseMessageChunk

    is_piece = isinstance(message, BaseMessageChunk) and getattr(message, "chunk_position", None) != "last"
    return "piece" if is_piece else "whole"


def in_blocks(message: Any) -> Any:
    """With its content in the words that all providers share, where the library knows how."""
    if not isinstance(message.content, list):
        return message
    blocks = getattr(message, "content_blocks", None)
    return message if blocks is None else message.model_copy(update={"content": blocks})


def _streams_tools() -> bool:
    try:
        import langgraph.pregel._tools  # noqa: F401
    except ImportError:
        return False
    return True
