"""The graph library's checkpointer, kept by the server: texts go over the socket, the server adds fence and commit."""

from __future__ import annotations

import asyncio
import inspect
import math
import random
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from langgraph.checkpoint.base import WRITES_IDX_MAP, BaseCheckpointSaver, CheckpointTuple

from .calls import Answer
from .carried import Carried
from .checkpoint_ids import go_on_from, keep_order
from .checkpoint_texts import (
    config_of,
    encode_checkpoint,
    numbered_blobs,
    place_of,
    read_tuple,
    require,
    task_name,
)
from .codec import TASKS, Codec
from .json_text import Json
from .peer import Peer
from .threads_bridge import wait_for

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

T = TypeVar("T")

keep_order()

own_random = random.Random()
"""A graph may seed the one of the whole process, and two branches of it would have one version."""

NO_TASK = "00000000-0000-0000-0000-000000000000"
"""Under this task the library keeps writes that come from a command, not from a node."""


class ProxySaver(BaseCheckpointSaver[Any]):
    """For one call of the server: what it writes is that call's, and is refused when the call's lease is lost."""

    def __init__(
        self,
        peer: Peer,
        codec: Codec,
        call: int,
        *,
        metadata: Json | None = None,
        prefetched: Answer | None = None,
        is_empty: bool = False,
        on_failed: Callable[[Exception], None] | None = None,
        carries: frozenset[str] = frozenset(),
    ) -> None:
        """`carries`: channels whose long values nobody looks into; what is read is then good for an answer only."""
        super().__init__()
        self._peer = peer
        self._codec = codec
        self._call = call
        self._metadata = metadata or {}
        self._prefetched = prefetched
        self._is_empty = is_empty
        self._on_failed = on_failed
        self._carries = carries
        self._loop = asyncio.get_running_loop()
        self._pending: set[asyncio.Future[Answer]] = set()
        self.wrote_nested = False
        """Whether a graph in the graph has kept a checkpoint."""

    async def settled(self) -> None:
        """Until none of its writes is on its way, whether they were taken or refused."""
        while self._pending:
            await asyncio.wait(self._pending)
            # The library writes one after another: the end of one may be the beginning of the next.
            await asyncio.sleep(0)

    def get_next_version(self, current: Any, channel: Any) -> Any:
        """Counts up with a random fraction: branches of one checkpoint give a channel different values."""
        fraction = math.floor(own_random.random() * 1e9) / 1e9
        whole = math.floor(float(current or 0)) + 1
        return whole + fraction if fraction else whole

    # Reading.

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        thread_id, namespace, checkpoint_id = place_of(config)
        if thread_id is None or self._is_empty:
            return None
        found = self._take_prefetched(thread_id, namespace or "", checkpoint_id)
        if found is None:
            asked: Json = {"for": self._call, "threadId": thread_id, "ns": namespace or ""}
            if checkpoint_id:
                asked["id"] = checkpoint_id
            found = await self._peer.request("saver.get", asked)
        if not found.meta.get("found"):
            return None
        go_on_from(found.meta["id"])
        return await self._read(found, is_latest=True)

    def _take_prefetched(self, thread_id: str, namespace: str, checkpoint_id: str | None) -> Answer | None:
        """What the server sent along is good until this saver writes."""
        known = self._prefetched
        if known is None:
            return None
        meta = known.meta
        if not meta.get("found"):
            return known if namespace == "" and checkpoint_id is None else None
        is_it = meta["threadId"] == thread_id and meta["ns"] == namespace
        return known if is_it and (checkpoint_id is None or meta["id"] == checkpoint_id) else None

    async def _read(self, found: Answer, is_latest: bool) -> CheckpointTuple:
        carries: frozenset[str] = frozenset() if _is_applied(found.meta, is_latest) else self._carries
        texts = await self._texts([number for channel, number in numbered_blobs(found) if channel not in carries])

        def numbered(channel: str, kind: str, number: int) -> Any:
            text = texts.get(number)
            return Carried(number) if text is None else self._codec.decode(kind, text, channel)

        tuple_ = read_tuple(self._codec, found, numbered)
        parent = found.meta.get("parentId")
        if tuple_.checkpoint["v"] < 4 and parent:
            await self._restore_sends(found.meta, tuple_)
        return tuple_

    async def _texts(self, numbers: Sequence[int]) -> dict[int, bytes]:
        """What the server kept because it might not be needed."""
        if not numbers:
            return {}
        answer = await self._peer.request("saver.texts", {"for": self._call, "numbers": numbers})
        return dict(zip(numbers, answer.segments, strict=True))

    async def _restore_sends(self, meta: Json, tuple_: CheckpointTuple) -> None:
        """Before format 4 the sends waiting for the next step were kept only as writes of the parent."""
        asked = {
            "for": self._call,
            "threadId": meta["threadId"],
            "ns": meta["ns"],
            "id": meta["parentId"],
            "channel": TASKS,
        }
        answer = await self._peer.request("saver.channelWrites", asked)
        types = answer.meta.get("types") or ["json"] * len(answer.segments)
        decode = self._codec.decode
        sends = [decode(kind, text, TASKS) for kind, text in zip(types, answer.segments, strict=True)]
        checkpoint = tuple_.checkpoint
        checkpoint["channel_values"][TASKS] = sends
        checkpoint["channel_versions"][TASKS] = max(checkpoint["channel_versions"].values(), default=1)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        asked: Json = {"for": self._call}
        if config is not None:
            thread_id, namespace, checkpoint_id = place_of(config)
            named = {"threadId": thread_id, "ns": namespace, "id": checkpoint_id}
            asked.update({name: value for name, value in named.items() if value is not None})
        if before is not None and (before_id := place_of(before)[2]):
            asked["before"] = before_id
        if filter:
            asked["filter"] = filter
        if limit is not None:
            asked["limit"] = limit
        stream = self._peer.open_stream("saver.list", asked)
        try:
            async for item in stream.inbox:
                yield await self._read(item, is_latest=False)
        finally:
            stream.close()

    # Writing.

    async def aput(self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        thread_id, namespace, parent_id = place_of(config)
        place = require(thread_id, "thread_id")
        self._is_empty = False
        self._prefetched = None
        self.wrote_nested = self.wrote_nested or bool(namespace)
        texts = encode_checkpoint(self._codec, checkpoint, {**self._metadata, **metadata}, new_versions, parent_id)
        asked = {
            "for": self._call,
            "threadId": place,
            "ns": namespace or "",
            "id": checkpoint["id"],
            "parentId": parent_id,
            "refs": texts.refs,
            "blobs": texts.blobs,
        }
        await self._write("saver.put", asked, texts.segments)
        return config_of(place, namespace or "", checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        thread_id, namespace, checkpoint_id = place_of(config)
        self._prefetched = None
        described: list[tuple[int, str, str]] = []
        texts: list[bytes] = []
        for at, (channel, value) in enumerate(writes):
            payload = self._encode_write(channel, value, task_path)
            described.append((WRITES_IDX_MAP.get(channel, at), channel, payload.type))
            texts.append(payload.text)
        asked = {
            "for": self._call,
            "threadId": require(thread_id, "thread_id"),
            "ns": namespace or "",
            "id": require(checkpoint_id, "checkpoint_id"),
            "taskId": task_id,
            "writes": described,
        }
        await self._write("saver.writes", asked, texts)

    def _encode_write(self, channel: str, value: Any, task_path: str) -> Any:
        name = task_name(task_path)
        where = f"node {name!r}: " if name else ""
        try:
            return self._codec.encode(value, channel, where)
        except Exception as error:
            self._fail(error)
            raise

    async def _write(self, method: str, asked: Json, segments: Sequence[bytes]) -> None:
        if self._peer.is_crowded:
            await self._peer.room()
        future = self._peer.send_request(method, asked, segments)
        self._pending.add(future)
        future.add_done_callback(self._pending.discard)
        try:
            # Whoever stops waiting does not stop the write: the run ends when it is through.
            await asyncio.shield(future)
        except asyncio.CancelledError:
            raise
        except Exception as error:
            self._fail(error)
            raise

    def _fail(self, error: Exception) -> None:
        if self._on_failed is not None:
            self._on_failed(error)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._peer.request("saver.delete", {"for": self._call, "threadId": thread_id})

    # From synchronous code, such as a node that calls another graph by `invoke`.

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return wait_for(self._loop, work, "the checkpointer", "ainvoke")

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return self._wait(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        async def read() -> Any:
            return [one async for one in self.alist(config, filter=filter, before=before, limit=limit)]

        yield from self._wait(read())

    def put(self, config: RunnableConfig, checkpoint: Any, metadata: Any, new_versions: Any) -> RunnableConfig:
        return self._wait(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self._wait(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        self._wait(self.adelete_thread(thread_id))


# The library looks at its parameters at the start of every run, which takes long unless it finds them here.
ProxySaver.aput_writes.__signature__ = inspect.signature(ProxySaver.aput_writes)  # type: ignore[attr-defined]


def _is_applied(meta: Json, is_latest: bool) -> bool:
    """Whether the graph applies writes to the values, which it then looks into: those of no task, and where it tells
    how far a step has come those of tasks that are done."""
    return any(
        task == NO_TASK or (is_latest and not channel.startswith("__"))
        for task, _idx, channel, _kind in meta.get("writes") or ()
    )
