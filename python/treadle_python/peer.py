"""Calls over the data socket, in both directions."""

from __future__ import annotations

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from .calls import Answer, Inbox, Outbox, Served, answer_of, current_call
from .faults import RemoteError, error_meta
from .frames import FrameReader, FrameWriter, Kind, Message, ProtocolError
from .json_text import Json, dumps

MOST_UNSENT = 4 * 1024 * 1024
WRITE_AT_ONCE = 1024 * 1024
REMEMBERED = 1024

Handler = Callable[[Served], Awaitable[Answer | None]]
"""Answers a unary call; returns None after a streaming one, which then ends."""


class Peer(asyncio.Protocol):
    """The server at the other end. Everything here happens on the event loop's thread."""

    def __init__(self, handlers: dict[str, Handler], on_lost: Callable[[int], None]) -> None:
        self._handlers = handlers
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader()
        self._writer = FrameWriter()
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        self._is_flushing = False
        self._room = asyncio.Event()
        self._room.set()
        self._empty = asyncio.Event()
        self._empty.set()
        self._next = 2
        self._served: dict[int, Served] = {}
        self._replies: dict[int, asyncio.Future[Answer]] = {}
        self._streams: dict[int, tuple[Inbox, Outbox]] = {}
        self._ended: OrderedDict[int, None] = OrderedDict()
        self.on_busy: Callable[[bool], None] = lambda _busy: None

    @classmethod
    async def connect(cls, sock: socket.socket, handlers: dict[str, Handler], on_lost: Callable[[int], None]) -> Peer:
        """`on_lost` gets the exit code: 0 when the server is gone, 70 when what it sends makes no sense."""
        loop = asyncio.get_running_loop()
        sock.setblocking(False)
        _, peer = await loop.create_unix_connection(lambda: cls(handlers, on_lost), sock=sock)
        return peer

    # The socket.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.set_write_buffer_limits(high=WRITE_AT_ONCE)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self._on_lost(0)

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._flush()

    def data_received(self, data: bytes) -> None:
        try:
            for message in self._reader.feed(data):
                self._receive(message)
        except (ProtocolError, ValueError) as error:
            os.write(2, f"treadle: the server broke the protocol: {error}\n".encode())
            self._on_lost(70)

    def post(self, kind: Kind, call: int, segments: Sequence[bytes]) -> None:
        """Puts a message in line; all of one turn of the loop go out in one write."""
        self._writer.push(kind, call, segments)
        self._empty.clear()
        if self._writer.unsent > MOST_UNSENT:
            self._room.clear()
        if not self._is_flushing:
            self._is_flushing = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._is_flushing = False
        if self._transport is None:
            return
        while not self._is_paused:
            pieces = self._writer.take(WRITE_AT_ONCE)
            if not pieces:
                self._empty.set()
                break
            self._transport.write(b"".join(pieces))
        if self._writer.unsent <= MOST_UNSENT // 2:
            self._room.set()

    @property
    def is_crowded(self) -> bool:
        """More waits to be sent than whoever produces more should add to."""
        return not self._room.is_set()

    async def room(self) -> None:
        await self._room.wait()

    async def finish(self) -> None:
        """Sends what waits and closes the socket, which ends the process."""
        await self._empty.wait()
        if self._transport is not None:
            self._transport.close()

    # Calls of ours.

    def send_request(self, method: str, meta: Json, segments: Sequence[bytes] = ()) -> asyncio.Future[Answer]:
        """Sends a unary call at once. Whoever stops waiting does not stop what the server does."""
        number = self._number()
        future: asyncio.Future[Answer] = self._loop.create_future()
        self._replies[number] = future
        self.post(Kind.CALL, number, (dumps({"method": method, **meta}), *segments))
        return future

    async def request(self, method: str, meta: Json, segments: Sequence[bytes] = ()) -> Answer:
        if self.is_crowded:
            await self.room()
        return await self.send_request(method, meta, segments)

    def open_stream(self, method: str, meta: Json, segments: Sequence[bytes] = ()) -> Streaming:
        """A call that answers in ITEMs. Close it if it is left before its end."""
        number = self._number()
        inbox, outbox = Inbox(self, number), Outbox(self, number)
        self._streams[number] = (inbox, outbox)
        self.post(Kind.CALL, number, (dumps({"method": method, **meta}), *segments))
        return Streaming(self, number, inbox, outbox)

    def close_stream(self, number: int) -> None:
        if self._streams.pop(number, None) is not None:
            self._remember(number)
            self.post(Kind.CANCEL, number, ())

    def log(self, meta: Json) -> None:
        self.post(Kind.CALL, 0, (dumps({"method": "log", **meta}),))

    def _number(self) -> int:
        number = self._next
        self._next = 2 if number >= 0xFFFFFFFE else number + 2
        return number

    # Calls of the server.

    @property
    def calls(self) -> int:
        """How many are under way."""
        return len(self._served)

    async def others_done(self, but: int) -> None:
        """Waits until no call is under way but this one."""
        while tasks := [one.task for number, one in self._served.items() if number != but and one.task]:
            await asyncio.wait(tasks)

    def _receive(self, message: Message) -> None:
        call, kind = message.call, message.kind
        if kind is Kind.CALL:
            self._serve(message)
        elif call % 2 == 1:
            self._receive_for_served(message)
        elif kind is Kind.CREDIT:
            stream = self._streams.get(call)
            if stream is not None:
                stream[1].grant(answer_of(message).meta)
            elif call not in self._replies and call not in self._ended:
                raise ProtocolError(f"{kind.name} for the unknown call {call}")
        else:
            self._receive_answer(message)

    def _receive_answer(self, message: Message) -> None:
        call, kind = message.call, message.kind
        future = self._replies.pop(call, None)
        if future is not None:
            self._remember(call)
            if future.done():
                return
            answer = answer_of(message)
            if kind is Kind.ERROR:
                future.set_exception(RemoteError(answer.meta))
                # A caller that has stopped waiting does not look at it.
                future.exception()
            else:
                future.set_result(answer)
            return
        stream = self._streams.get(call)
        if stream is not None:
            stream[0].put(message)
            if kind is not Kind.ITEM:
                del self._streams[call]
                self._remember(call)
        elif call not in self._ended:
            raise ProtocolError(f"{kind.name} for the unknown call {call}")

    def _receive_for_served(self, message: Message) -> None:
        call, kind = message.call, message.kind
        entry = self._served.get(call)
        if entry is None:
            if call not in self._ended:
                raise ProtocolError(f"{kind.name} for the unknown call {call}")
            return
        served = entry
        if kind is Kind.CREDIT:
            served.outbox.grant(answer_of(message).meta)
        elif kind is Kind.CANCEL:
            served.is_cancelled = True
            served.on_cancel()
        elif kind in (Kind.ITEM, Kind.END):
            served.inbox.put(message)
        else:
            raise ProtocolError(f"{kind.name} from whoever made call {call}")

    def _serve(self, message: Message) -> None:
        served = Served(self, message.call, answer_of(message))
        if message.call % 2 == 0 or message.call in self._served:
            raise ProtocolError(f"a call with the number {message.call}")
        self._served[message.call] = served
        if len(self._served) == 1:
            self.on_busy(True)
        served.task = self._loop.create_task(self._run(served))

    async def _run(self, served: Served) -> None:
        number = served.number
        current_call.set(number)
        try:
            handler = self._handlers.get(served.method)
            if handler is None:
                raise ValueError(f"there is no method {served.method!r}")
            answer = await handler(served)
            if answer is None:
                served.outbox.end()
            else:
                self.post(Kind.REPLY, number, (dumps(answer.meta), *answer.segments))
        except asyncio.CancelledError:
            meta = {"type": "CancelledError", "message": "the call was cancelled", "code": "cancelled"}
            self.post(Kind.ERROR, number, (dumps(meta),))
        except BaseException as error:
            self.post(Kind.ERROR, number, (dumps(error_meta(error)),))
            if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
                raise
        finally:
            self._served.pop(number, None)
            self._remember(number)
            if not self._served:
                self.on_busy(False)

    def _remember(self, number: int) -> None:
        """Late frames of calls that have just ended are no fault."""
        self._ended[number] = None
        if len(self._ended) > REMEMBERED:
            self._ended.popitem(last=False)


class Streaming:
    """A streaming call of ours: what is sent with it, and what comes back."""

    def __init__(self, peer: Peer, number: int, inbox: Inbox, outbox: Outbox) -> None:
        self._peer = peer
        self._number = number
        self.inbox = inbox
        self.outbox = outbox

    def close(self) -> None:
        """Tells the server that nobody wants the rest; nothing happens when it has ended."""
        self._peer.close_stream(self._number)
