"""What a graph declares, and how it is drawn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast, get_type_hints

from .json_text import Json

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

Reader = Callable[[], Json | None]
logger = logging.getLogger("treadle")


def graph_schemas(graph: Graph) -> Json:
    """JSON Schemas; null where the graph declares none."""
    declared = getattr(graph, "context_schema", None)
    context = _read("context", lambda: _context_schema(graph), lambda: _of_fields(declared))
    return {
        "input_schema": _read("input", graph.get_input_jsonschema, lambda: _of_channels(graph, _inputs(graph))),
        "output_schema": _read(
            "output", graph.get_output_jsonschema, lambda: _of_channels(graph, graph.output_channels)
        ),
        "state_schema": _of_channels(graph, graph.stream_channels_asis),
        "config_schema": context,
        "context_schema": context,
    }


def _inputs(graph: Graph) -> str | Sequence[str]:
    """The input of a graph of nodes and edges is any of its state, put through one channel."""
    channels = graph.input_channels
    return graph.stream_channels_asis if channels == "__start__" else channels


def _read(part: str, reader: Reader, otherwise: Reader) -> Json | None:
    try:
        return reader()
    except Exception as error:
        logger.debug("the %s schema is told field by field: %s", part, error)
        return otherwise()


def _of_channels(graph: Graph, channels: str | Sequence[str]) -> Json:
    """Field by field: one that JSON Schema cannot express must not hide the others."""
    names = [channels] if isinstance(channels, str) else channels
    fields = {name: _of_type(graph.channels[name]) for name in names if name in graph.channels}
    definitions: Json = {}
    for schema in fields.values():
        definitions.update(schema.pop("$defs", {}))
    described = {name: {"title": _title(name), **schema} for name, schema in fields.items()}
    body: Json = {"type": "object", "title": graph.get_name("State"), "properties": described}
    return {**body, "$defs": definitions} if definitions else body


def _of_type(channel: Any) -> Json:
    return _of_annotation(channel.UpdateType)


def _of_annotation(annotation: Any) -> Json:
    from pydantic import TypeAdapter

    try:
        schema: Json = TypeAdapter(annotation).json_schema()
    except Exception as error:
        logger.debug("a field has no schema: %s", error)
        return {}
    return schema


def _title(name: str) -> str:
    return name.replace("_", " ").title()


def _context_schema(graph: Graph) -> Json | None:
    reader = getattr(graph, "get_context_jsonschema", None)
    return reader() if reader is not None else None


def _of_fields(declared: Any) -> Json | None:
    """Where the library cannot describe it as a whole, such as a `typing.TypedDict` before Python 3.12."""
    if declared is None:
        return None
    try:
        hints = get_type_hints(declared)
    except Exception as error:
        logger.debug("%s has no fields: %s", declared, error)
        return None
    schemas = {name: _of_annotation(hint) for name, hint in hints.items()}
    definitions: Json = {}
    for schema in schemas.values():
        definitions.update(schema.pop("$defs", {}))
    described = {name: {"title": _title(name), **schema} for name, schema in schemas.items()}
    required = [name for name in hints if name in getattr(declared, "__required_keys__", ())]
    body: Json = {"type": "object", "title": getattr(declared, "__name__", "Context"), "properties": described}
    if required:
        body["required"] = required
    return {**body, "$defs": definitions} if definitions else body


async def draw_graph(graph: Graph, config: Json, xray: bool | int) -> Json:
    """Nodes and edges as the server answers them."""
    drawn = (await graph.aget_graph(config, xray=xray)).to_json()  # type: ignore[arg-type]
    return {
        "nodes": [{**node, "id": str(node["id"])} for node in drawn.get("nodes", [])],
        "edges": [
            {
                "source": str(edge["source"]),
                "target": str(edge["target"]),
                "conditional": bool(edge.get("conditional", False)),
                **({"data": str(edge["data"])} if edge.get("data") is not None else {}),
            }
            for edge in drawn.get("edges", [])
        ],
    }


async def subgraph_schemas(graph: Graph, namespace: str | None, recurse: bool) -> Json:
    """Schemas of the subgraphs by namespace."""
    # The library finds an inner namespace only with `recurse`.
    deep = recurse or "|" in (namespace or "")
    return {
        name: graph_schemas(cast("Graph", subgraph))
        async for name, subgraph in graph.aget_subgraphs(namespace=namespace, recurse=deep)
        if _is_graph(subgraph)
    }


def _is_graph(value: object) -> bool:
    return hasattr(value, "get_input_jsonschema") and hasattr(value, "channels")
