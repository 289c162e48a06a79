"""Schemas and drawings of graphs, made once when a project is built: servers answer with them without asking Python."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .graph_factory import GraphEntry, Opening
from .json_text import Json, dumps
from .schemas import draw_graph, graph_schemas

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

FORMAT = 1
"""Of the file, and of what is told in it: a server takes no other."""
_address = re.compile(r" at 0x[0-9a-f]+")
logger = logging.getLogger("treadle")


def describe_graphs(entries: Iterable[GraphEntry]) -> bytes:
    """Without graphs that are made anew for each use, and without those that cannot be described here."""
    described: Json = {}
    for entry in entries:
        if entry.is_factory:
            continue
        try:
            described[entry.graph_id] = asyncio.run(_describe(entry))
        except Exception as error:
            logger.warning("graph %s is described when it is served: %s", entry.graph_id, error)
    return dumps({"format": FORMAT, "graphs": described})


async def _describe(entry: GraphEntry) -> Json:
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    from .codec import Codec

    wire = Codec(JsonPlusSerializer()).wire
    async with entry.open(Opening({}, "assistants.read")) as graph:
        drawn = {"plain": await draw_graph(graph, {}, False), "xray": await draw_graph(graph, {}, True)}
        drawings: Json = json.loads(wire.dumps(drawn))
        return {"shape": shape_of(graph), "schemas": graph_schemas(graph), "drawings": drawings}


def shape_of(graph: Graph) -> str:
    """The same for the same nodes and channels. A graph may have others where its environment is another."""
    text = json.dumps(_shape(graph), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _shape(graph: Any) -> Json:
    nodes = {
        str(name): [
            sorted(map(str, node.triggers)),
            [_shape(inner) for inner in node.subgraphs if hasattr(inner, "channels")],
        ]
        for name, node in graph.nodes.items()
    }
    channels = {
        str(name): [type(channel).__name__, _address.sub("", repr(getattr(channel, "UpdateType", None)))]
        for name, channel in graph.channels.items()
    }
    context = _address.sub("", repr(getattr(graph, "context_schema", None)))
    return {"nodes": nodes, "channels": channels, "context": context}
