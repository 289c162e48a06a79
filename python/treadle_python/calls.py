"""The two ends of a call: one that the server makes and we serve, one that we make."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .faults import RemoteError
from .frames import Kind, Message
from .json_text import Json, dumps, loads_meta

if TYPE_CHECKING:
    from .peer import Peer

FIRST_ITEMS = 512
FIRST_BYTES = 1024 * 1024

current_call: ContextVar[int] = ContextVar("treadle_call", default=0)
"""The server's call on whose behalf code runs; 0 outside of any."""
current_run: ContextVar[str | None] = ContextVar("treadle_run", default=None)


@dataclass(slots=True)
class Answer:
    """Fields and further segments of a message."""

    meta: Json
    segments: Sequence[bytes] = ()


def answer_of(message: Message) -> Answer:
    """Cuts the fields from the other segments."""
    if not message.segments:
        return Answer({})
    return Answer(loads_meta(message.segments[0]), message.segments[1:])


class Inbox:
    """ITEMs on their way to us. Taking them lets the sender send more."""

    def __init__(self, peer: Peer, number: int) -> None:
        self._peer = peer
        self._number = number
        self._waiting: deque[Answer | RemoteError | None] = deque()
        self._arrived = asyncio.Event()
        self._items = 0
        self._bytes = 0
        self._ended = False

    def put(self, message: Message) -> None:
        if message.kind is Kind.ITEM:
            self._waiting.append(answer_of(message))
        elif message.kind is Kind.END:
            self._waiting.append(None)
        else:
            self._waiting.append(RemoteError(answer_of(message).meta))
        self._arrived.set()

    def fail(self, error: RemoteError) -> None:
        self._waiting.append(error)
        self._arrived.set()

    async def next(self) -> Answer | None:
        """None at the end."""
        if self._ended:
            return None
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        item = self._waiting.popleft()
        if item is None:
            self._ended = True
            return None
        if isinstance(item, RemoteError):
            self._ended = True
            raise item
        self._grant(sum(map(len, item.segments)))
        return item

    def _grant(self, size: int) -> None:
        self._items += 1
        self._bytes += size
        if self._items >= FIRST_ITEMS // 4 or self._bytes >= FIRST_BYTES // 4:
            credit = dumps({"items": self._items, "bytes": self._bytes})
            self._peer.post(Kind.CREDIT, self._number, (credit,))
            self._items = self._bytes = 0

    async def __aiter__(self) -> AsyncIterator[Answer]:
        while (item := await self.next()) is not None:
            yield item


class Outbox:
    """ITEMs on their way to the other side, no more than it has granted."""

    def __init__(self, peer: Peer, number: int) -> None:
        self._peer = peer
        self._number = number
        self._items = FIRST_ITEMS
        self._bytes = FIRST_BYTES
        self._granted = asyncio.Event()

    def grant(self, meta: Json) -> None:
        self._items += int(meta.get("items", 0))
        self._bytes += int(meta.get("bytes", 0))
        self._granted.set()

    async def send(self, meta: Json | bytes, *segments: bytes) -> None:
        """Waits for credit and for room in the socket. Fields that are sent often may be text already."""
        while self._items <= 0 or self._bytes <= 0:
            self._granted.clear()
            await self._granted.wait()
        if self._peer.is_crowded:
            await self._peer.room()
        self._items -= 1
        self._bytes -= sum(map(len, segments))
        fields = meta if isinstance(meta, bytes) else dumps(meta)
        self._peer.post(Kind.ITEM, self._number, (fields, *segments))

    def end(self, meta: Json | None = None) -> None:
        self._peer.post(Kind.END, self._number, (dumps(meta),) if meta else ())


class Served:
    """A call of the server."""

    def __init__(self, peer: Peer, number: int, answer: Answer) -> None:
        self.peer = peer
        self.number = number
        self.meta = answer.meta
        self.segments = answer.segments
        self.inbox = Inbox(peer, number)
        self.outbox = Outbox(peer, number)
        self.is_cancelled = False
        self.task: asyncio.Task[None] | None = None
        self.on_cancel: Callable[[], None] = self.cancel
        """What a CANCEL does."""

    def cancel(self) -> None:
        if self.task is not None and not self.task.done():
            self.task.cancel()

    @property
    def method(self) -> str:
        return str(self.meta.get("method", ""))

    def segment(self, at: int) -> bytes:
        """A further segment by its number in the message: the first one is 1."""
        if at > len(self.segments):
            raise ValueError(f"{self.method}: segment {at} is missing")
        return self.segments[at - 1]

    async def send(self, meta: Json | bytes, *segments: bytes) -> None:
        """One ITEM."""
        await self.outbox.send(meta, *segments)
