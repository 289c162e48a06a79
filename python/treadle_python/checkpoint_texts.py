"""Checkpoints as the texts the server's store takes and gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .calls import Answer
from .codec import Codec
from .json_text import Json

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import CheckpointTuple

LONGEST_INLINE = 256
LARGEST_INTEGER = 2**53

Place = tuple[str | None, str | None, str | None]


def place_of(config: RunnableConfig) -> Place:
    """Thread, namespace and checkpoint, as far as the config names them."""
    configurable = config.get("configurable") or {}
    thread_id = configurable.get("thread_id")
    return (
        None if thread_id is None else str(thread_id),
        configurable.get("checkpoint_ns"),
        configurable.get("checkpoint_id") or None,
    )


def config_of(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}}


def require(value: str | None, name: str) -> str:
    if value:
        return value
    raise ValueError(f"A checkpoint cannot be saved: the config has no configurable.{name}. Pass it with the run.")


@dataclass(slots=True)
class CheckpointTexts:
    """What `saver.put` sends."""

    refs: list[tuple[str, str]] = field(default_factory=list)
    """Every channel whose value is a blob, also those an earlier checkpoint stored."""
    blobs: list[tuple[str, str, str]] = field(default_factory=list)
    """The values that are new with this checkpoint."""
    segments: list[bytes] = field(default_factory=list)


def encode_checkpoint(
    codec: Codec, checkpoint: Any, metadata: Json, new_versions: Any, parent_id: str | None
) -> CheckpointTexts:
    # A first checkpoint has nothing to inherit, so what is not new in it is not part of it.
    inherits = parent_id is not None or metadata.get("source") == "fork"
    new: Json = new_versions or {}
    texts = CheckpointTexts()
    inline: Json = {}
    blob_texts: list[bytes] = []
    for channel, value in checkpoint["channel_values"].items():
        is_new = channel in new
        version = new[channel] if is_new else checkpoint["channel_versions"].get(channel)
        if version is None or not (is_new or inherits):
            continue
        if is_inline(value):
            inline[channel] = value
            continue
        shown = number_text(version)
        texts.refs.append((channel, shown))
        if is_new:
            payload = codec.encode(value, channel, "")
            texts.blobs.append((channel, shown, payload.type))
            blob_texts.append(payload.text)
    structure = {name: part for name, part in checkpoint.items() if name not in ("channel_values", "id")}
    structure["inline"] = inline
    texts.segments = [codec.encode_plain(structure), codec.encode_plain(metadata), *blob_texts]
    return texts


def is_inline(value: Any) -> bool:
    """Small primitives live in the checkpoint's own row."""
    kind = value.__class__
    if kind is str:
        if len(value) > LONGEST_INLINE:
            return False
        return value.isascii() or len(value.encode("utf-16-le", "surrogatepass")) <= 2 * LONGEST_INLINE
    if kind is int:
        return bool(-LARGEST_INTEGER < value < LARGEST_INTEGER)
    return value is None or kind is bool or (kind is float and math.isfinite(value))


def number_text(version: Any) -> str:
    """As JavaScript prints the number: blobs are found by it."""
    if isinstance(version, float) and version.is_integer():
        return str(int(version))
    return str(version)


Numbered = Callable[[str, str, int], Any]
"""The value of a channel of which the server sent the type and a number instead of the text."""


def numbered_blobs(found: Answer) -> list[tuple[str, int]]:
    """The channels whose texts the server kept, with the numbers to ask for them."""
    return [(channel, number[0]) for channel, _kind, *number in found.meta.get("blobs") or () if number]


def read_tuple(codec: Codec, found: Answer, numbered: Numbered) -> CheckpointTuple:
    """Of the layout of a reply of `saver.get`."""
    from langgraph.checkpoint.base import CheckpointTuple

    meta, segments = found.meta, found.segments
    blobs, writes = meta.get("blobs") or [], meta.get("writes") or []
    structure: Json = codec.decode("json", segments[0])
    values: Json = dict(structure.pop("inline", None) or {})
    at = 2
    for channel, kind, *number in blobs:
        if number:
            values[channel] = numbered(channel, kind, number[0])
            continue
        values[channel] = codec.decode(kind, segments[at], channel)
        at += 1
    pending = []
    for task_id, _idx, channel, kind in writes:
        pending.append((task_id, channel, codec.decode(kind, segments[at], channel)))
        at += 1
    structure.setdefault("updated_channels", None)
    checkpoint: Any = {**structure, "id": meta["id"], "channel_values": values}
    thread_id, namespace, parent_id = meta["threadId"], meta["ns"], meta.get("parentId")
    return CheckpointTuple(
        config=config_of(thread_id, namespace, meta["id"]),
        checkpoint=checkpoint,
        metadata=codec.decode("json", segments[1]),
        parent_config=config_of(thread_id, namespace, parent_id) if parent_id else None,
        pending_writes=pending,
    )


def task_name(task_path: str) -> str | None:
    """The node of a task, from the library's text of its path."""
    name = task_path.rpartition(",")[2].strip()
    return name or None
