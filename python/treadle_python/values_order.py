"""What a step's values are told with: the checkpoint before them, and what stopped the graph after them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from .json_text import Json
from .run_events import INTERRUPT

Chunk = tuple[Sequence[str], str, Any]
"""Namespace, mode, payload; the mode `events` has a callback event."""


async def checkpoints_first(chunks: AsyncIterator[Chunk], keeps_all: bool) -> AsyncIterator[Chunk]:
    """The library tells a step's values, then its checkpoint; clients pair a checkpoint with the values after it.

    One without values is told only to a client that asked for checkpoints by themselves.
    """
    held: dict[tuple[str, ...], Chunk] = {}
    async for chunk in chunks:
        namespace, mode, _ = chunk
        place = tuple(namespace)
        waiting = held.pop(place, None)
        if waiting is not None and mode != "checkpoints":
            yield waiting
            waiting = None
        if mode == "values":
            held[place] = chunk
            continue
        if mode != "checkpoints" or waiting is not None or keeps_all:
            yield chunk
        if waiting is not None:
            yield waiting
    for chunk in held.values():
        yield chunk


async def stops_told(chunks: AsyncIterator[Chunk]) -> AsyncIterator[Chunk]:
    """Whatever stops a graph is in its values, too: of a stop at a node, and before langgraph 1, only updates tell."""
    untold: list[Any] | None = None
    async for chunk in chunks:
        yield chunk
        namespace, mode, payload = chunk
        if namespace or not isinstance(payload, dict) or INTERRUPT not in payload:
            continue
        if mode == "updates":
            untold = [*(untold or ()), *payload[INTERRUPT]]
        elif mode == "values":
            untold = None
    if untold is not None:
        yield (), "values", {INTERRUPT: tuple(untold)}


def checkpoint_envelope(payload: Any) -> Json:
    """What the protocol tells of a checkpoint."""
    metadata = payload.get("metadata") or {}
    envelope: Json = {
        "id": _id_of(payload.get("config")),
        "step": metadata.get("step"),
        "source": metadata.get("source"),
    }
    parent = _id_of(payload.get("parent_config"))
    return {**envelope, "parent_id": parent} if parent else envelope


def _id_of(config: Any) -> str | None:
    found = ((config or {}).get("configurable") or {}).get("checkpoint_id")
    return str(found) if found else None
