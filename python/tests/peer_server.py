"""The server's end of the sockets for tests: a dictionary keeps the checkpoints and the store."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from treadle_python.frames import FrameReader, Kind, Message, encode

PACKAGE = Path(__file__).parent.parent / "treadle_python"


# The worker wants the sockets as descriptors 3 and 4.
LAUNCH = """
import fcntl, os, sys
data, control = (fcntl.fcntl(int(given), fcntl.F_DUPFD, 100) for given in sys.argv[1:3])
os.dup2(data, 3)
os.dup2(control, 4)
os.closerange(5, 200)
os.execv(sys.executable, [sys.executable, "-u", sys.argv[3]])
"""


class CallFailed(Exception):
    def __init__(self, meta: dict[str, Any]) -> None:
        super().__init__(f"{meta.get('type')}: {meta.get('message')}")
        self.meta = meta


@dataclass
class Item:
    meta: dict[str, Any]
    segments: list[bytes] = field(default_factory=list)


class Server:
    """Starts a real worker process and talks to it."""

    def __init__(self) -> None:
        self.logs: list[dict[str, Any]] = []
        self.output = b""
        self.checkpoints: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        self.writes: dict[tuple[str, str, str], list[tuple[str, int, str, str, bytes]]] = {}
        self.items: dict[tuple[tuple[str, ...], str], Any] = {}
        self.received: list[tuple[str, dict[str, Any]]] = []
        self.refuse: dict[str, dict[str, Any]] = {}
        self.upstream: Any = None
        self.numbered: list[bytes] | None = None
        """Texts of values that are sent as numbers, where that is asked for."""
        self.report: dict[str, Any] = {}
        self.directory = "."
        self._next = 1
        self._queues: dict[int, asyncio.Queue[Message]] = {}
        self._upstreams: dict[int, asyncio.Queue[Message]] = {}

    async def start(self, python: str = sys.executable, directory: str = ".", **environment: str) -> None:
        self.directory = directory
        data, data_child = socket.socketpair()
        control, control_child = socket.socketpair()
        self.process = await asyncio.create_subprocess_exec(
            python,
            "-c",
            LAUNCH,
            str(data_child.fileno()),
            str(control_child.fileno()),
            str(PACKAGE / "__main__.py"),
            cwd=directory,
            pass_fds=(data_child.fileno(), control_child.fileno()),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={**os.environ, **environment},
        )
        data_child.close()
        control_child.close()
        self._reader, self._writer = await asyncio.open_connection(sock=data)
        self._control_reader, self._control_writer = await asyncio.open_connection(sock=control)
        self._tasks = [asyncio.create_task(self._receive()), asyncio.create_task(self._read_output())]

    async def stop(self) -> None:
        self._writer.close()
        self._control_writer.close()
        await asyncio.wait_for(self.process.wait(), 10)
        for task in self._tasks:
            task.cancel()

    async def _read_output(self) -> None:
        assert self.process.stdout is not None
        while chunk := await self.process.stdout.read(65536):
            self.output += chunk

    async def control(self, message: dict[str, Any]) -> dict[str, Any]:
        self._control_writer.write(json.dumps(message).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await asyncio.wait_for(self._control_reader.readline(), 10))
        return answer

    def send(self, kind: Kind, call: int, meta: Any = None, *segments: bytes) -> None:
        first = [] if meta is None and not segments else [json.dumps(meta or {}).encode()]
        self._writer.write(encode([Message(kind, call, [*first, *segments])]))

    def open(self, method: str, meta: dict[str, Any], *segments: bytes) -> int:
        call, self._next = self._next, self._next + 2
        self._queues[call] = asyncio.Queue()
        self.send(Kind.CALL, call, {"method": method, **meta}, *segments)
        return call

    async def request(self, method: str, meta: dict[str, Any], *segments: bytes, timeout: float = 120) -> Item:
        call = self.open(method, meta, *segments)
        message = await asyncio.wait_for(self._queues[call].get(), timeout)
        item = _item(message)
        if message.kind is Kind.ERROR:
            raise CallFailed(item.meta)
        assert message.kind is Kind.REPLY, message
        return item

    async def items_of(self, call: int, timeout: float = 120, grant: bool = True) -> AsyncIterator[Item]:
        while True:
            message = await asyncio.wait_for(self._queues[call].get(), timeout)
            item = _item(message)
            if message.kind is Kind.ERROR:
                raise CallFailed(item.meta)
            if message.kind is Kind.END:
                return
            if grant:
                self.send(Kind.CREDIT, call, {"items": 1, "bytes": sum(map(len, item.segments))})
            yield item

    async def load(self, directory: str, graphs: dict[str, str], **more: Any) -> dict[str, Any]:
        listed = []
        for graph_id, place in graphs.items():
            file, _, name = place.partition(":")
            listed.append({"graphId": graph_id, "file": file, "exportName": name})
        meta = {"directory": directory, "dependencies": [directory], "graphs": listed, "workers": 1, **more}
        return (await self.request("load", meta)).meta

    def start_run(self, graph: str, thread: str = "t1", meta: dict[str, Any] | None = None, **call: Any) -> int:
        asked = {
            "config": {"configurable": {}},
            "stream_mode": ["values"],
            "subgraphs": False,
            "durability": "async",
            **call,
        }
        run_meta = {
            "graphId": graph,
            "runId": "00000000-0000-4000-8000-000000000001",
            "threadId": thread,
            "attempt": 1,
            "resume": False,
            "protocol": False,
            **(meta or {}),
        }
        texts = asked.pop("stored", [])
        beside = {"metadata": {"graph_id": graph}, "checkpointMetadata": {"graph_id": graph}}
        return self.open("run", run_meta, json.dumps(asked).encode(), json.dumps(beside).encode(), *texts)

    async def run(
        self, graph: str, thread: str = "t1", meta: dict[str, Any] | None = None, **call: Any
    ) -> list[tuple[str, Any]]:
        events = []
        async for item in self.items_of(self.start_run(graph, thread, meta, **call)):
            for (name, _), at in zip(item.meta["events"], item.meta["at"], strict=True):
                events.append((name, json.loads(item.segments[at - 1])))
        return events

    # What the worker asks.

    async def _receive(self) -> None:
        reader = FrameReader()
        while data := await self._reader.read(262144):
            for message in reader.feed(data):
                if message.call % 2 == 1:
                    self._queues[message.call].put_nowait(message)
                elif message.kind is Kind.CALL:
                    self._serve(message)
                elif message.call in self._upstreams:
                    self._upstreams[message.call].put_nowait(message)

    def _serve(self, message: Message) -> None:
        item = _item(message)
        method = str(item.meta.pop("method"))
        if method == "log":
            self.logs.append(item.meta)
            return
        self.received.append((method, item.meta))
        if method in self.refuse:
            self.send(Kind.ERROR, message.call, self.refuse[method])
        elif method == "upstream":
            queue: asyncio.Queue[Message] = asyncio.Queue()
            self._upstreams[message.call] = queue
            self._tasks.append(asyncio.create_task(self.upstream(self, message.call, item.meta, queue)))
        else:
            getattr(self, "_" + method.replace(".", "_"))(message.call, item)

    def _saver_put(self, call: int, item: Item) -> None:
        meta, texts = item.meta, item.segments
        line = self.checkpoints.setdefault((meta["threadId"], meta["ns"]), {})
        blobs = {
            (channel, version): (kind, text)
            for (channel, version, kind), text in zip(meta["blobs"], texts[2:], strict=True)
        }
        known: dict[Any, Any] = {}
        for stored in line.values():
            known.update(stored["blobs"])
        line[meta["id"]] = {
            "parentId": meta["parentId"],
            "structure": texts[0],
            "metadata": texts[1],
            "blobs": {tuple(ref): blobs.get(tuple(ref)) or known[tuple(ref)] for ref in meta["refs"]},
        }
        self.send(Kind.REPLY, call, {})

    def _saver_writes(self, call: int, item: Item) -> None:
        meta = item.meta
        # They may come before their checkpoint.
        stored = self.writes.setdefault((meta["threadId"], meta["ns"], meta["id"]), [])
        for (idx, channel, kind), text in zip(meta["writes"], item.segments, strict=True):
            stored[:] = [one for one in stored if (one[0], one[1]) != (meta["taskId"], idx)]
            stored.append((meta["taskId"], idx, channel, kind, text))
        self.send(Kind.REPLY, call, {})

    def _saver_get(self, call: int, item: Item) -> None:
        meta = item.meta
        line = self.checkpoints.get((meta["threadId"], meta["ns"]), {})
        wanted = meta.get("id") or max(line, default=None)
        if wanted not in line:
            self.send(Kind.REPLY, call, {"found": False})
            return
        self.send(Kind.REPLY, call, *self.stored(meta["threadId"], meta["ns"], wanted))

    def stored(self, thread: str, namespace: str, wanted: str) -> tuple[Any, ...]:
        stored = self.checkpoints[thread, namespace][wanted]
        writes = self.writes.get((thread, namespace, wanted), [])
        answer = {
            "found": True,
            "threadId": thread,
            "ns": namespace,
            "id": wanted,
            "parentId": stored["parentId"],
            "blobs": [],
            "writes": [list(one[:4]) for one in writes],
        }
        texts = []
        for (channel, _), (kind, text) in stored["blobs"].items():
            if self.numbered is None:
                answer["blobs"].append([channel, kind])
                texts.append(text)
            else:
                answer["blobs"].append([channel, kind, len(self.numbered)])
                self.numbered.append(text)
        texts += [one[4] for one in writes]
        return answer, stored["structure"], stored["metadata"], *texts

    def _saver_list(self, call: int, item: Item) -> None:
        meta = item.meta
        found = []
        for (thread, namespace), line in self.checkpoints.items():
            if meta.get("threadId", thread) != thread or meta.get("ns", namespace) != namespace:
                continue
            for wanted, stored in line.items():
                has = json.loads(stored["metadata"])
                is_wanted = all(has.get(key) == value for key, value in (meta.get("filter") or {}).items())
                if is_wanted and wanted < meta.get("before", "~") and meta.get("id", wanted) == wanted:
                    found.append((thread, namespace, wanted))
        found.sort(key=lambda one: one[2], reverse=True)
        for one in found[: meta.get("limit")]:
            self.send(Kind.ITEM, call, *self.stored(*one))
        self.send(Kind.END, call)

    def _saver_texts(self, call: int, item: Item) -> None:
        assert self.numbered is not None
        self.send(Kind.REPLY, call, {}, *[self.numbered[number] for number in item.meta["numbers"]])

    def _saver_delete(self, call: int, item: Item) -> None:
        for place in [place for place in self.checkpoints if place[0] == item.meta["threadId"]]:
            del self.checkpoints[place]
        self.send(Kind.REPLY, call, {})

    def _store_batch(self, call: int, item: Item) -> None:
        results: list[Any] = []
        writes = []
        for one in json.loads(item.segments[0]):
            place = (tuple(one.get("namespace", ())), one.get("key", ""))
            if one["op"] == "get":
                results.append(self.items.get(place))
            elif one["op"] == "put":
                writes.append((place, one))
                results.append(None)
            elif one["op"] == "search":
                prefix = tuple(one["namespacePrefix"])
                results.append(
                    [kept for (namespace, _), kept in self.items.items() if namespace[: len(prefix)] == prefix]
                )
            else:
                results.append(sorted({namespace for namespace, _ in self.items}))
        for place, one in writes:
            if one["value"] is None:
                self.items.pop(place, None)
            else:
                stamp = "2026-01-01T00:00:00.000Z"
                kept = {
                    "namespace": place[0],
                    "key": place[1],
                    "value": one["value"],
                    "created_at": stamp,
                    "updated_at": stamp,
                }
                self.items[place] = {**kept, "ttl": one.get("ttl")}
        self.send(Kind.REPLY, call, {}, json.dumps(results).encode())


def _item(message: Message) -> Item:
    if not message.segments:
        return Item({})
    return Item(json.loads(message.segments[0] or b"{}"), message.segments[1:])
