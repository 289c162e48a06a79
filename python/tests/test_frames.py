"""Frames: whatever is sent arrives, however the bytes are cut."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle_python.frames import (
    LARGEST_FRAME,
    LARGEST_PART,
    FrameReader,
    FrameWriter,
    Kind,
    Message,
    ProtocolError,
    encode,
)

segments = st.lists(st.binary(max_size=300), max_size=5)
messages = st.lists(
    st.builds(Message, st.sampled_from(Kind), st.integers(0, 2**32 - 1), segments),
    max_size=12,
)


@given(messages, st.lists(st.integers(1, 50), min_size=1))
def test_messages_survive_any_cut(sent: list[Message], cuts: list[int]) -> None:
    data = encode(sent)
    reader = FrameReader()
    received: list[Message] = []
    at = turn = 0
    while at < len(data):
        size = cuts[turn % len(cuts)]
        received += reader.feed(data[at : at + size])
        at += size
        turn += 1
    for call in {message.call for message in sent}:
        assert [one for one in received if one.call == call] == [one for one in sent if one.call == call]


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(0, 3 * LARGEST_PART), min_size=1, max_size=4))
def test_long_messages_are_cut_and_joined(sizes: list[int]) -> None:
    sent = [Message(Kind.ITEM, 7, [b"{}", *(bytes([at]) * size for at, size in enumerate(sizes))])]
    data = encode(sent)
    assert FrameReader().feed(data) == sent
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("!I", data, at)
        assert length <= LARGEST_FRAME
        at += 4 + length


def test_a_long_message_does_not_delay_a_short_one() -> None:
    writer = FrameWriter()
    writer.push(Kind.ITEM, 1, [b"{}", b"x" * 100 * LARGEST_PART])
    first = b"".join(writer.take(LARGEST_PART))
    writer.push(Kind.ITEM, 3, [b"token"])
    second = b"".join(writer.take(2 * LARGEST_PART))
    reader = FrameReader()
    assert reader.feed(first) == []
    assert reader.feed(second) == [Message(Kind.ITEM, 3, [b"token"])]
    assert writer.unsent > 0


def test_messages_of_one_call_keep_their_order() -> None:
    sent = [Message(Kind.ITEM, 1, [b"a" * (LARGEST_PART * 2)]), Message(Kind.ITEM, 1, [b"b"]), Message(Kind.END, 1, [])]
    assert FrameReader().feed(encode(sent)) == sent


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack("!IBBHI", LARGEST_FRAME + 1, 1, 0, 0, 1),
        struct.pack("!IBBHI", 8, 99, 0, 0, 1),
        struct.pack("!IBBHI", 8, 1, 0, 1, 1),
        struct.pack("!IBBHII", 12, 1, 0, 1, 1, 5),
        struct.pack("!IBBHI", 7, 1, 0, 0, 1),
    ],
    ids=["too long", "unknown kind", "no table", "fewer bytes than the table says", "shorter than a head"],
)
def test_nonsense_is_refused(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        FrameReader().feed(frame)


@given(st.binary(max_size=400))
def test_any_bytes_are_messages_or_refused(data: bytes) -> None:
    try:
        FrameReader().feed(data)
    except ProtocolError:
        pass
