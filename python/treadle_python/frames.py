"""Frames of the data socket: bytes to messages and back. No I/O.

A frame is `u32 length | u8 kind | u8 flags | u16 segments | u32 call | u32 per segment | bytes`, big-endian. A message
longer than a frame goes out in several: the first has the table of segments, the last has no `MORE` flag.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

MORE = 1
LARGEST_PART = 256 * 1024
"""Bytes of segments in one frame."""
LARGEST_FRAME = LARGEST_PART + 64 * 1024
LARGEST_TABLE = (LARGEST_FRAME - LARGEST_PART - 8) // 4

_length = struct.Struct("!I")
_head = struct.Struct("!BBHI")


class Kind(IntEnum):
    """What a frame is for."""

    CALL = 1
    REPLY = 2
    ERROR = 3
    ITEM = 4
    END = 5
    CREDIT = 6
    CANCEL = 7


_kinds = {int(kind): kind for kind in Kind}


class ProtocolError(Exception):
    """The other side sent what no correct side sends; nothing after it can be trusted."""


@dataclass(slots=True)
class Message:
    """Segment 0 is JSON, the others are opaque."""

    kind: Kind
    call: int
    segments: list[bytes]


class FrameReader:
    """Takes bytes as they come and gives whole messages."""

    __slots__ = ("_buffer", "_partial")

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._partial: dict[int, _Partial] = {}

    def feed(self, data: bytes) -> list[Message]:
        """The messages that `data` completes."""
        buffer = self._buffer
        buffer += data
        messages: list[Message] = []
        at = 0
        end = len(buffer)
        while end - at >= 12:
            (length,) = _length.unpack_from(buffer, at)
            if length < 8 or length > LARGEST_FRAME:
                raise ProtocolError(f"a frame of {length} bytes")
            if end - at - 4 < length:
                break
            message = self._frame(bytes(buffer[at + 4 : at + 4 + length]))
            if message is not None:
                messages.append(message)
            at += 4 + length
        if at > 0:
            del buffer[:at]
        return messages

    def _frame(self, frame: bytes) -> Message | None:
        code, flags, segments, call = _head.unpack_from(frame)
        kind = _kinds.get(code)
        if kind is None:
            raise ProtocolError(f"a frame of the unknown kind {code}")
        partial = self._partial.get(call)
        if partial is not None:
            if segments != 0 or kind is not partial.kind:
                raise ProtocolError(f"a message of call {call} begins inside another one")
            partial.add(frame[8:])
        else:
            start = 8 + 4 * segments
            if start > len(frame):
                raise ProtocolError("a frame shorter than its own table of segments")
            lengths = struct.unpack_from(f"!{segments}I", frame, 8)
            if not flags & MORE:
                return Message(kind, call, _cut(frame, start, lengths))
            partial = _Partial(kind, lengths)
            partial.add(frame[start:])
            self._partial[call] = partial
        if flags & MORE:
            return None
        del self._partial[call]
        return Message(kind, call, partial.finish())


class _Partial:
    """A message of which some frames have come."""

    __slots__ = ("_bytes", "_lengths", "_total", "kind")

    def __init__(self, kind: Kind, lengths: Sequence[int]) -> None:
        self.kind = kind
        self._lengths = lengths
        self._total = sum(lengths)
        self._bytes = bytearray()

    def add(self, part: bytes) -> None:
        self._bytes += part
        if len(self._bytes) > self._total:
            raise ProtocolError("a message longer than its table of segments says")

    def finish(self) -> list[bytes]:
        return _cut(bytes(self._bytes), 0, self._lengths)


def _cut(data: bytes, start: int, lengths: Sequence[int]) -> list[bytes]:
    if start + sum(lengths) != len(data):
        raise ProtocolError("the bytes of a message are not as many as its table of segments says")
    segments: list[bytes] = []
    for length in lengths:
        segments.append(data[start : start + length])
        start += length
    return segments


class FrameWriter:
    """Messages that wait to be sent. Frames of different calls take turns, so that a long message delays no other."""

    __slots__ = ("_lines", "unsent")

    def __init__(self) -> None:
        self._lines: dict[int, deque[bytes | _LongMessage]] = {}
        self.unsent = 0
        """Bytes that were not taken yet."""

    def push(self, kind: Kind, call: int, segments: Sequence[bytes]) -> None:
        """Puts a message at the end of its call's line."""
        if len(segments) > LARGEST_TABLE:
            raise ProtocolError(f"a message of {len(segments)} segments; {LARGEST_TABLE} is the most")
        lengths = tuple(map(len, segments))
        size = sum(lengths)
        waiting: bytes | _LongMessage
        if size > LARGEST_PART:
            waiting = _LongMessage(kind, call, lengths, b"".join(segments))
        else:
            waiting = b"".join((_head_of(size, kind, 0, call, lengths), *segments))
        self.unsent += len(waiting)
        line = self._lines.get(call)
        if line is None:
            self._lines[call] = deque((waiting,))
        else:
            line.append(waiting)

    def take(self, most: int) -> list[bytes]:
        """Pieces to write, about `most` bytes of them and at least one frame; empty when nothing waits."""
        pieces: list[bytes] = []
        taken = 0
        lines = self._lines
        while lines and taken < most:
            for call in list(lines):
                taken += self._take_from(call, pieces)
                if taken >= most:
                    # Whoever was served goes behind those who were not.
                    if call in lines:
                        lines[call] = lines.pop(call)
                    break
        self.unsent -= taken
        return pieces

    def _take_from(self, call: int, pieces: list[bytes]) -> int:
        """One turn: short messages up to a frame's worth, or the next frame of a long one."""
        line = self._lines[call]
        taken = 0
        while line and taken < LARGEST_PART:
            first = line[0]
            if isinstance(first, bytes):
                pieces.append(first)
                taken += len(first)
                line.popleft()
                continue
            if taken > 0:
                break
            before = len(first)
            pieces.append(first.next_frame())
            taken = before - len(first)
            if len(first) == 0:
                line.popleft()
            break
        if not line:
            del self._lines[call]
        return taken


class _LongMessage:
    """Cut into frames as it goes out."""

    __slots__ = ("_at", "_call", "_data", "_kind", "_lengths")

    def __init__(self, kind: Kind, call: int, lengths: tuple[int, ...], data: bytes) -> None:
        self._kind = kind
        self._call = call
        self._lengths = lengths
        self._data = memoryview(data)
        self._at = 0

    def __len__(self) -> int:
        """Bytes that are left."""
        return len(self._data) - self._at

    def next_frame(self) -> bytes:
        start = self._at
        self._at = min(start + LARGEST_PART, len(self._data))
        part = self._data[start : self._at]
        flags = MORE if len(self) > 0 else 0
        return _head_of(len(part), self._kind, flags, self._call, () if start else self._lengths) + part


def _head_of(size: int, kind: Kind, flags: int, call: int, lengths: tuple[int, ...]) -> bytes:
    """Of a frame with that many bytes of segments."""
    count = len(lengths)
    return struct.pack(f"!IBBHI{count}I", 8 + 4 * count + size, kind, flags, count, call, *lengths)


def encode(messages: Iterable[Message]) -> bytes:
    """All frames of the messages, for tests and for whoever writes at once."""
    writer = FrameWriter()
    for message in messages:
        writer.push(message.kind, message.call, message.segments)
    return b"".join(writer.take(1 << 62))
