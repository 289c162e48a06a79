"""Reads and changes the state of threads."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from .calls import Answer, Served
from .carried import carried_channels, take_carried
from .codec import Codec
from .graph_call import to_command
from .graph_factory import GraphEntry, Opening
from .json_text import Json, loads
from .run_events import public_configurable
from .runner import CHECKPOINTER, prefetched
from .saver import ProxySaver
from .snapshots import snapshot_fields
from .users import with_user

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]


logger = logging.getLogger("treadle")


class States:
    """The four questions about a thread's state."""

    def __init__(self, codec: Codec, store: Any) -> None:
        self._codec = codec
        self._store = store

    async def get(self, call: Served, entry: GraphEntry) -> Answer:
        async with entry.open(self._opening(call.meta, "threads.read")) as graph:
            found = await self._at(graph, call.meta.get("address"))
            carries = _carries(call, found)
            if carries:
                try:
                    return await self._get(call, found, carries)
                except Exception as error:
                    _note_looked_inside(error)
            return await self._get(call, found, frozenset())

    async def _get(self, call: Served, graph: Graph, carries: frozenset[str]) -> Answer:
        meta = call.meta
        saver = ProxySaver(call.peer, self._codec, call.number, prefetched=prefetched(call, 1), carries=carries)
        config = _config(saver, meta, meta.get("address"))
        return self._answer(await graph.aget_state(config, subgraphs=bool(meta.get("subgraphs"))))

    async def history(self, call: Served, entry: GraphEntry) -> None:
        async with entry.open(self._opening(call.meta, "threads.read")) as graph:
            found = await self._at(graph, call.meta.get("address"))
            carries = _carries(call, found)
            if carries:
                try:
                    # All of it before the first is sent: what was sent cannot be taken back.
                    answers = [answer async for answer in self._history(call, found, carries)]
                except Exception as error:
                    _note_looked_inside(error)
                else:
                    for answer in answers:
                        await call.send(answer.meta, *answer.segments)
                    return
            async for answer in self._history(call, found, frozenset()):
                await call.send(answer.meta, *answer.segments)

    async def _history(self, call: Served, graph: Graph, carries: frozenset[str]) -> AsyncIterator[Answer]:
        meta = call.meta
        saver = ProxySaver(call.peer, self._codec, call.number, carries=carries)
        limit = int(meta.get("limit") or 10)
        before = meta.get("before")
        count = 0
        async for snapshot in graph.aget_state_history(
            _config(saver, meta, meta.get("address")),
            limit=limit,
            filter=meta.get("filter") or None,
            before=_config(saver, meta, before) if before else None,
        ):
            yield self._answer(snapshot)
            count += 1
            # The library passes the limit on, but counts subgraphs' checkpoints too.
            if count >= limit:
                break

    def _answer(self, snapshot: Any) -> Answer:
        fields = snapshot_fields(snapshot)
        carried = take_carried(fields)
        return Answer(carried, [self._codec.wire.dumps(fields)])

    async def update(self, call: Served, entry: GraphEntry) -> Answer:
        meta = call.meta
        saver = self._writing(call)
        values = loads(call.segment(1)) if call.segments and call.segment(1) else None
        async with entry.open(self._opening(meta, "threads.update")) as graph:
            found = await self._at(graph, meta.get("address"))
            config = _config(saver, meta, meta.get("address"))
            updated = await found.aupdate_state(config, values, as_node=meta.get("asNode"))
            await saver.settled()
        return Answer({"configurable": public_configurable(updated.get("configurable"))})

    async def fill(self, call: Served, entry: GraphEntry) -> Answer:
        from langgraph.types import StateUpdate

        meta = call.meta
        saver = self._writing(call)
        supersteps = [
            [
                StateUpdate(to_command(one["command"]) if one.get("command") else one.get("values"), one.get("as_node"))
                for one in superstep["updates"]
            ]
            for superstep in loads(call.segment(1))
        ]
        async with entry.open(self._opening(meta, "threads.update")) as graph:
            await (await self._at(graph, None)).abulk_update_state(_config(saver, meta, None), supersteps)
            await saver.settled()
        return Answer({})

    def _writing(self, call: Served) -> ProxySaver:
        metadata = call.meta.get("checkpointMetadata")
        return ProxySaver(call.peer, self._codec, call.number, metadata=metadata)

    def _opening(self, meta: Json, access: str) -> Opening:
        return Opening(with_user(meta.get("config") or {}), str(meta.get("access") or access), store=self._store)

    async def _at(self, graph: Graph, address: Json | None) -> Graph:
        """The graph whose checkpoints the address names. One that a node calls by itself cannot be found."""
        steps = [step for step in ((address or {}).get("checkpoint_ns") or "").split("|") if step]
        wanted = "|".join(step.partition(":")[0] for step in steps if not re.fullmatch(r"\d+", step))
        found: Any = graph
        if wanted:
            async for name, subgraph in graph.aget_subgraphs(namespace=wanted, recurse=True):
                if name == wanted:
                    found = subgraph
                    break
        bound: Graph = copy.copy(found)
        bound.store = self._store
        return bound


def _carries(call: Served, graph: Graph) -> frozenset[str]:
    return carried_channels(graph) if call.meta.get("carry") else frozenset()


def _note_looked_inside(error: Exception) -> None:
    """The graph did look into a value: the state is computed again, with all of them."""
    logger.debug("A state could not be computed without its values: %r", error)


def _config(saver: ProxySaver, meta: Json, address: Json | None) -> Any:
    place = address or {}
    configurable: Json = {
        "thread_id": str(meta["threadId"]),
        "checkpoint_ns": place.get("checkpoint_ns") or "",
        CHECKPOINTER: saver,
    }
    for name in ("checkpoint_id", "checkpoint_map"):
        if place.get(name):
            configurable[name] = place[name]
    return {"configurable": configurable}
