"""The long-term store as graphs know it, kept by the server."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from .calls import current_call
from .json_text import Json, loads
from .peer import Peer
from .threads_bridge import wait_for
from .wire import Wire


class ProxyStore(BaseStore):
    """One for the process: operations belong to the call whose code makes them."""

    supports_ttl = True

    def __init__(self, peer: Peer, wire: Wire) -> None:
        self._peer = peer
        self._wire = wire
        self._loop = asyncio.get_running_loop()

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Reads see the store as it was before the writes of the same batch."""
        asked = list(ops)
        text = self._wire.dumps([_operation(op) for op in asked])
        call = current_call.get()
        if asyncio.get_running_loop() is not self._loop:
            # An event loop of the node's own.
            work = self._send(text, call)
            results = await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))
        else:
            results = await self._send(text, call)
        return [_result(op, result) for op, result in zip(asked, results, strict=True)]

    async def _send(self, text: bytes, call: int) -> list[Any]:
        answer = await self._peer.request("store.batch", {"for": call}, [text])
        results: list[Any] = loads(answer.segments[0])
        return results

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        asked = list(ops)
        text = self._wire.dumps([_operation(op) for op in asked])
        work = self._send(text, current_call.get())
        results = wait_for(self._loop, work, "the store", "aget, aput, asearch, …")
        return [_result(op, result) for op, result in zip(asked, results, strict=True)]


def _operation(op: Op) -> Json:
    if isinstance(op, GetOp):
        return {"op": "get", "namespace": op.namespace, "key": op.key, **_kept(op.refresh_ttl)}
    if isinstance(op, PutOp):
        put: Json = {"op": "put", "namespace": op.namespace, "key": op.key, "value": op.value}
        if op.index is not None:
            put["index"] = op.index
        if isinstance(op.ttl, (int, float)):
            put["ttl"] = op.ttl
        return put
    if isinstance(op, SearchOp):
        search: Json = {
            "op": "search",
            "namespacePrefix": op.namespace_prefix,
            "limit": op.limit,
            "offset": op.offset,
            **_kept(op.refresh_ttl),
        }
        if op.filter:
            search["filter"] = op.filter
        if op.query:
            search["query"] = op.query
        return search
    if isinstance(op, ListNamespacesOp):
        conditions = [{"matchType": one.match_type, "path": one.path} for one in op.match_conditions or ()]
        return {
            "op": "namespaces",
            "matchConditions": conditions,
            "maxDepth": op.max_depth,
            "limit": op.limit,
            "offset": op.offset,
        }
    raise TypeError(f"the store does not know the operation {type(op).__name__}")


def _kept(refreshes: bool) -> Json:
    """Only who asks not to refresh is told on: otherwise the server's own setting holds."""
    return {} if refreshes else {"refreshTtl": False}


def _result(op: Op, result: Any) -> Result:
    if isinstance(op, PutOp) or result is None:
        return None
    if isinstance(op, GetOp):
        return Item(**_fields(result))
    if isinstance(op, SearchOp):
        return [SearchItem(**_fields(one), score=one.get("score")) for one in result]
    return [tuple(namespace) for namespace in result]


def _fields(item: Json) -> Any:
    return {
        "namespace": tuple(item["namespace"]),
        "key": item["key"],
        "value": item["value"],
        "created_at": _time(item["created_at"]),
        "updated_at": _time(item["updated_at"]),
    }


def _time(text: str) -> datetime:
    # Python 3.10 does not take the letter.
    return datetime.fromisoformat(text.removesuffix("Z") + "+00:00" if text.endswith("Z") else text)
