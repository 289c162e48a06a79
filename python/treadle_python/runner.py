"""Runs a graph for one attempt of a run and sends what it yields."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any
from uuid import UUID

from .calls import Answer, Served, current_run
from .codec import Codec
from .contexts import coerce_context, known_context
from .faults import CallError, RemoteError
from .graph_call import to_command
from .graph_factory import GraphEntry, Opening
from .graph_stream import GraphStream, in_blocks, may_stop_at_nodes, message_form
from .json_text import Json, dumps, loads
from .run_events import INTERRUPT, Event, RunEvents, invites, told
from .saver import ProxySaver
from .snapshots import pending_interrupts
from .threads import CallThreads
from .tracing import callbacks_for
from .users import with_user
from .values_order import Chunk, checkpoint_envelope

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

    Graph = Pregel[Any, Any, Any, Any]

CHECKPOINTER = "__pregel_checkpointer"


class Run:
    """One attempt."""

    def __init__(self, call: Served, codec: Codec, threads: CallThreads, store: Any) -> None:
        meta = call.meta
        self._call = call
        self._codec = codec
        self._threads = threads
        self._store = store
        self._asked: Json = loads(call.segment(1))
        self._beside: Json = loads(call.segment(2)) if len(call.segments) > 1 and call.segment(2) else {}
        self._run_id = str(meta["runId"])
        self._thread_id = str(meta["threadId"])
        self._protocol = bool(meta.get("protocol"))
        self._resumes = bool(meta.get("resume"))
        self._failure: Exception | None = None
        self._words: dict[tuple[str, ...], bytes] = {}
        self._saver = ProxySaver(
            call.peer,
            codec,
            call.number,
            metadata=self._beside.get("checkpointMetadata"),
            prefetched=prefetched(call, 3),
            is_empty=bool(meta.get("newThread")),
            on_failed=self._write_failed,
        )

    async def serve(self, entry: GraphEntry) -> None:
        """Ends after the last item, and after the server has answered every checkpoint."""
        current_run.set(self._run_id)
        opening = Opening(
            config=with_user(self._asked.get("config") or {}, self._beside.get("user")),
            access="threads.create_run",
            context=self._asked.get("context"),
            store=self._store,
        )
        try:
            async with entry.open(opening) as graph:
                await self._stream(graph, entry.graph_id)
        except asyncio.CancelledError:
            if self._failure is None:
                # Node interrupts synchronous code that goes on; the answer waits for it.
                await self._threads.idle(self._call.number)
                raise
        except Exception as error:
            if self._failure is None:
                raise _as_error(error) from error
        finally:
            self._threads.forget(self._call.number)
            await self._saver.settled()
        if self._failure is not None:
            raise self._failure

    def _write_failed(self, error: Exception) -> None:
        """From any thread's write: the run stops, and answers with this failure."""
        if self._failure is None:
            self._failure = error
            self._call.cancel()

    async def _stream(self, graph: Graph, graph_id: str) -> None:
        bound = copy.copy(graph)
        bound.store = self._store
        mapper = RunEvents(self._codec.wire, self._asked["stream_mode"], bool(self._asked.get("subgraphs")))
        async for namespace, mode, payload in self._chunks(bound, graph_id):
            if mode == "events":
                events = mapper.of_callback(payload)
                await self._send(events, {"mode": mode, "ns": []}, events[0][2] if self._protocol else None)
                continue
            events = mapper.of_chunk(namespace, mode, payload)
            if mode == "messages" and not self._protocol and len(events) == 1:
                await self._send_word(namespace, events[0])
                continue
            is_root = mode == "values" and not namespace
            if not events and not is_root and not self._protocol:
                continue
            meta: Json = {"mode": mode, "ns": list(namespace), "invites": invites(mode, payload)}
            chunk: bytes | None = None
            spoken = _spoken(mode, payload) if self._protocol else None
            if spoken is not None:
                chunk = self._codec.wire.dumps(spoken)
            elif is_root or self._protocol:
                named = f"{mode}|{'|'.join(namespace)}" if namespace else mode
                same = next((data for name, _, data in events if name == named), None)
                chunk = same if same is not None else self._codec.wire.dumps(told(mode, payload))
            if is_root:
                meta["root"] = True
            if self._protocol and mode == "messages":
                meta["message"] = message_form(payload[0])
            await self._send(events, meta, chunk)

    async def _send_word(self, namespace: Sequence[str], event: Event) -> None:
        """What a model says comes piece by piece, and all of a message is sent with the same fields."""
        name, place, data = event
        key = (name, place, *namespace)
        fields = self._words.get(key)
        if fields is None:
            fields = dumps({"mode": "messages", "ns": list(namespace), "events": [(name, place)], "at": [1]})
            self._words[key] = fields
        await self._call.send(fields, data)

    async def _send(self, events: list[Event], meta: Json, chunk: bytes | None = None) -> None:
        segments: list[bytes] = []
        places: list[int] = []
        for _, _, data in events:
            segments.append(data)
            places.append(len(segments))
        if chunk is not None:
            at = next((at for at, data in enumerate(segments) if data is chunk), None)
            if at is None:
                segments.append(chunk)
                at = len(segments) - 1
            meta["chunk"] = at + 1
        meta["events"] = [(name, namespace) for name, namespace, _ in events]
        meta["at"] = places
        await self._call.send(meta, *segments)

    async def _chunks(self, graph: Graph, graph_id: str) -> AsyncIterator[Chunk]:
        asked = self._asked
        options: Json = {"durability": asked.get("durability") or "async"}
        for name in ("interrupt_before", "interrupt_after"):
            if asked.get(name):
                options[name] = asked[name]
        context = run_context(graph, asked.get("context"))
        if context is not None:
            options["context"] = context
        modes, subgraphs = asked["stream_mode"], bool(asked.get("subgraphs"))
        stream = GraphStream(self._run_id, modes, subgraphs, self._protocol, may_stop_at_nodes(graph, options))
        asks = False
        async for chunk in stream.chunks(graph, await self._input(graph), self._config(graph_id), options):
            asks = asks or invites(chunk[1], chunk[2])
            yield chunk
        if not asks and not stream.has_updates and self._saver.wrote_nested and await self._waits(graph):
            # A graph that a node calls by itself stopped at a node of its own: nothing of the stream tells.
            yield (), "values", {INTERRUPT: ()}

    async def _waits(self, graph: Graph) -> bool:
        return bool((await graph.aget_state(self._latest())).next)

    def _latest(self) -> Any:
        return {"configurable": {"thread_id": self._thread_id, CHECKPOINTER: self._saver}}

    def _config(self, graph_id: str) -> Any:
        given = with_user(self._asked.get("config") or {}, self._beside.get("user"))
        # A resumed attempt goes on from its own last checkpoint, not from the one it was forked from.
        checkpoint = None if self._resumes else self._asked.get("checkpoint")
        address = {}
        if checkpoint:
            named = {key: value for key, value in checkpoint.items() if value is not None}
            address = {**named, "checkpoint_ns": checkpoint.get("checkpoint_ns") or ""}
        configurable = {
            **(given.pop("configurable", None) or {}),
            "thread_id": self._thread_id,
            **address,
            CHECKPOINTER: self._saver,
        }
        recursion_limit = given.pop("recursion_limit", None)
        traced = callbacks_for(self._beside.get("tracing") or {})
        return {
            **given,
            "configurable": configurable,
            "metadata": self._beside.get("metadata") or {},
            "run_id": UUID(self._run_id),
            **({"recursion_limit": recursion_limit} if recursion_limit else {}),
            **({"callbacks": traced} if traced else {}),
            **({"run_name": graph_id} if "events" not in self._asked["stream_mode"] else {}),
        }

    async def _input(self, graph: Graph) -> Any:
        """Its input, a command, or nothing to go on where it stopped."""
        if self._resumes:
            return None
        command = self._asked.get("command")
        if not command:
            return self._asked.get("input")
        answer = command.get("resume")
        if answer is None and not command.get("update") and not command.get("goto"):
            from langgraph.errors import EmptyInputError

            raise EmptyInputError("Received empty Command input")
        if answer is None or answer:
            return to_command(command)
        # Some versions take an empty answer for none at all. Named by the interrupt it answers, it arrives.
        pending = pending_interrupts(await graph.aget_state(self._latest()))
        return to_command({**command, "resume": {pending[0]: answer}} if pending else command)


def run_context(graph: Graph, given: Json | None) -> Any:
    """Of a graph that declares one: never absent, where its fields all have defaults."""
    schema = getattr(graph, "context_schema", None)
    if given:
        return known_context(schema, given)
    if schema is None:
        return None
    try:
        return coerce_context(schema, {})
    except Exception:
        return None


def prefetched(call: Served, first: int) -> Answer | None:
    """The checkpoint that the server sent along, in the layout of `saver.get`."""
    if "prefetched" not in call.meta:
        return None
    meta = call.meta["prefetched"]
    if meta is None:
        return Answer({"found": False})
    return Answer({**meta, "found": True}, call.segments[first - 1 :])


def _spoken(mode: str, payload: Any) -> Any:
    """For the streaming protocol, where that is another form than the one of the stream mode."""
    if mode == "checkpoints":
        return checkpoint_envelope(payload)
    if mode == "messages":
        return (in_blocks(payload[0]), payload[1])
    if mode == "values" and isinstance(payload, dict) and INTERRUPT in payload:
        # The values beside it were told with their step.
        return {INTERRUPT: payload[INTERRUPT]}
    return None


def _as_error(error: Exception) -> Exception:
    """A failure of the server's own, met on the way, is told as the server told it."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, (RemoteError, CallError)):
            return cause
        cause = cause.__cause__
    return error
