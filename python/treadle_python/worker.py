"""One worker process: answers the server's calls until the server drains it or goes away."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import socket
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from .calls import Answer, Served
from .graph_factory import GraphEntry, Opening
from .health import Health
from .json_text import dumps, loads
from .loader import Project, load_project
from .logs import LogHandler, LogLines, PrintedLines
from .low_priority import at_low_priority
from .peer import Handler, Peer
from .schemas import draw_graph, graph_schemas, subgraph_schemas
from .threads import CallThreads
from .tracing import flush_traces, prepare_tracing
from .user_module import prepare_path
from .users import with_user

WORKER_THREADS = 64


def import_libraries() -> None:
    """In the order in which a project's own imports would come to them."""
    from langgraph.graph import StateGraph  # noqa: F401

    from . import codec, runner, states, store  # noqa: F401


class Worker:
    """Wires the parts; each method below answers one call."""

    def __init__(self) -> None:
        self._project = Project()
        self._threads = CallThreads(WORKER_THREADS)
        self._peer: Peer | None = None
        self._health: Health | None = None
        self._codec: Any = None
        self._store: Any = None
        self._states: Any = None
        self._drained = asyncio.Event()

    async def serve(self, data: socket.socket, control: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(self._threads)
        self._peer = peer = await Peer.connect(data, self._handlers(), os._exit)
        lines = LogLines(peer.log, loop.call_soon_threadsafe)
        sys.stdout = PrintedLines(lines, "stdout", sys.__stdout__)  # type: ignore[arg-type]
        sys.stderr = PrintedLines(lines, "stderr", sys.__stderr__)  # type: ignore[arg-type]
        logging.basicConfig(level=os.environ.get("LOG_LEVEL", "INFO").upper(), handlers=[LogHandler(lines)])
        self._health = health = Health(control, self._threads, lambda text: lines.add("warn", "treadle", text))
        health.calls = lambda: peer.calls
        peer.on_busy = health.set_busy
        health.start()
        await self._drained.wait()
        await peer.finish()
        await loop.create_future()

    def _handlers(self) -> dict[str, Handler]:
        return {
            "load": self._load,
            "warm": self._warm,
            "graph.schemas": self._schemas,
            "graph.draw": self._draw,
            "graph.subgraphs": self._subgraphs,
            "run": self._run,
            "state.get": self._state(lambda call, entry: self._states.get(call, entry)),
            "state.history": self._state(lambda call, entry: self._states.history(call, entry)),
            "state.update": self._state(lambda call, entry: self._states.update(call, entry)),
            "state.fill": self._state(lambda call, entry: self._states.fill(call, entry)),
            "auth.authenticate": self._authenticate,
            "auth.on": self._authorize,
            "http": self._http,
            "embed": self._embed,
            "traces.sent": self._traces_sent,
            "drain": self._drain,
        }

    async def _load(self, call: Served) -> Answer:
        assert self._health is not None
        if call.meta.get("stallMs"):
            self._health.stall_seconds = float(call.meta["stallMs"]) / 1000
        self._project, report = await load_project(call.peer, call.meta)
        if self._project.graphs:
            self._prepare(call.peer)
        # Modules and graphs stay: collections need not go through hundreds of thousands of their objects again.
        gc.freeze()
        return Answer(report)

    async def _warm(self, call: Served) -> Answer:
        """For a process in reserve: the imports that take most of a start. Of the project it has the path alone."""
        prepare_path(str(call.meta["directory"]), [str(path) for path in call.meta.get("dependencies", ())])
        await at_low_priority(import_libraries)
        return Answer({})

    def _prepare(self, peer: Peer) -> None:
        """What imports the graph library; it is there, because a graph was loaded."""
        from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        from .codec import Codec
        from .spoken_pieces import tell_spoken_pieces
        from .states import States
        from .store import ProxyStore

        self._codec = Codec(JsonPlusSerializer())
        self._store = ProxyStore(peer, self._codec.wire)
        self._states = States(self._codec, self._store)
        tell_spoken_pieces()
        prepare_tracing()

    def _entry(self, call: Served) -> GraphEntry:
        return self._project.graph(str(call.meta["graphId"]))

    def _opening(self, call: Served) -> Opening:
        meta = call.meta
        return Opening(with_user(meta.get("config") or {}), "assistants.read", store=self._store)

    async def _schemas(self, call: Served) -> Answer:
        async with self._entry(call).open(self._opening(call)) as graph:
            return Answer({}, [dumps(graph_schemas(graph))])

    async def _draw(self, call: Served) -> Answer:
        meta = call.meta
        async with self._entry(call).open(self._opening(call)) as graph:
            drawn = await draw_graph(graph, meta.get("config") or {}, meta.get("xray") or False)
            return Answer({}, [self._codec.wire.dumps(drawn)])

    async def _subgraphs(self, call: Served) -> Answer:
        meta = call.meta
        async with self._entry(call).open(self._opening(call)) as graph:
            found = await subgraph_schemas(graph, meta.get("namespace"), bool(meta.get("recurse")))
            return Answer({}, [dumps(found)])

    async def _run(self, call: Served) -> None:
        from .runner import Run

        await Run(call, self._codec, self._threads, self._store).serve(self._entry(call))

    def _state(self, answer: Callable[[Served, GraphEntry], Awaitable[Answer | None]]) -> Handler:
        async def handler(call: Served) -> Answer | None:
            return await answer(call, self._entry(call))

        return handler

    async def _authenticate(self, call: Served) -> Answer:
        if self._project.auth is None:
            raise LookupError("the project has no auth")
        return await self._project.auth.authenticate(call)

    async def _authorize(self, call: Served) -> Answer:
        if self._project.auth is None:
            raise LookupError("the project has no auth")
        return await self._project.auth.on(call)

    async def _http(self, call: Served) -> None:
        if self._project.app is None:
            raise LookupError("the project has no HTTP application")
        await self._project.app.serve(call)

    async def _embed(self, call: Served) -> Answer:
        if self._project.embedder is None:
            raise LookupError("the project has no embedding function")
        vectors = await self._project.embedder.embed(loads(call.segment(1)))
        return Answer({}, [dumps(vectors)])

    async def _traces_sent(self, call: Served) -> Answer:
        await flush_traces()
        return Answer({})

    async def _drain(self, call: Served) -> Answer:
        await call.peer.others_done(call.number)
        await flush_traces()
        if self._project.app is not None:
            await self._project.app.stop()
        self._drained.set()
        return Answer({})
