"""What a model says in content blocks inside a node, told in the modes of messages as it comes."""

from __future__ import annotations

import importlib.util
import json
import uuid
from typing import Any

import pytest
from peer_server import Server

from treadle_python.spoken_pieces import SpokenPieces

blocks = pytest.mark.skipif(
    importlib.util.find_spec("langchain_core.language_models.chat_model_stream") is None,
    reason="this version of langchain-core does not speak in content blocks",
)


@blocks
@pytest.mark.parametrize("tells_tokens", [False, True])
async def test_words_come_one_by_one(shared: Server, tells_tokens: bool) -> None:
    """The second word waits until the first has arrived here."""
    given = {"messages": [{"role": "user", "content": "x"}], "count": int(tells_tokens)}
    call = shared.start_run("speaking_blocks", str(uuid.uuid4()), input=given, stream_mode=["messages-tuple", "values"])
    pieces: list[Any] = []
    async for item in shared.items_of(call):
        if item.meta["mode"] != "messages":
            continue
        pieces.append(json.loads(item.segments[0])[0])
        if len(pieces) == 1:
            await shared.run("hearing", str(uuid.uuid4()), input={"messages": []})
    assert "".join(piece["content"] for piece in pieces) == "one two"
    assert len({piece["id"] for piece in pieces}) == 1, "all pieces are of one message"
    calls = [call for piece in pieces for call in piece.get("tool_call_chunks") or []]
    assert "".join(call["args"] for call in calls) == ("" if tells_tokens else '{"at": 1}')


def joined(events: list[dict[str, Any]]) -> Any:
    spoken = SpokenPieces()
    pieces = [piece for event in events if (piece := spoken.of(event)) is not None]
    whole = pieces[0]
    for piece in pieces[1:]:
        whole = whole + piece
    return whole


@blocks
def test_the_pieces_add_up_to_the_message() -> None:
    def delta(index: int, **fields: Any) -> dict[str, Any]:
        return {"event": "content-block-delta", "index": index, "delta": fields}

    whole = joined(
        [
            {"event": "message-start", "id": "m1", "role": "ai"},
            {"event": "content-block-start", "index": 0, "content": {"type": "reasoning", "reasoning": ""}},
            delta(0, type="reasoning-delta", reasoning="Let "),
            delta(0, type="reasoning-delta", reasoning="me."),
            {"event": "content-block-finish", "index": 0, "content": {"type": "reasoning", "reasoning": "Let me."}},
            {"event": "content-block-start", "index": 1, "content": {"type": "text", "text": ""}},
            delta(1, type="text-delta", text="Hel"),
            delta(1, type="text-delta", text="lo"),
            {"event": "content-block-finish", "index": 1, "content": {"type": "text", "text": "Hello"}},
            {
                "event": "content-block-start",
                "index": 2,
                "content": {"type": "tool_call_chunk", "id": "c", "name": "add", "args": ""},
            },
            delta(2, type="tool-call-delta", args='{"a"'),
            delta(2, type="tool-call-delta", args=": 1}"),
            {
                "event": "content-block-start",
                "index": 3,
                "content": {"type": "tool_call_chunk", "id": "d", "name": "sub", "args": ""},
            },
            delta(3, type="block-delta", fields={"type": "tool_call_chunk", "args": '{"b"'}),
            delta(3, type="block-delta", fields={"type": "tool_call_chunk", "args": '{"b": 2}'}),
            {"event": "content-block-finish", "index": 4, "content": {"type": "image", "url": "https://x"}},
            {"event": "message-finish", "usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}},
        ]
    )
    assert whole.id == "m1"
    assert whole.text == "Hello"
    assert [(call["name"], call["args"]) for call in whole.tool_calls] == [("add", {"a": 1}), ("sub", {"b": 2})]
    assert whole.usage_metadata["total_tokens"] == 3
    kinds = [part["type"] for part in whole.content if isinstance(part, dict)]
    assert kinds == ["reasoning", "image"]


@blocks
def test_what_adds_nothing_is_no_piece() -> None:
    spoken = SpokenPieces()
    assert spoken.of({"event": "message-start", "id": "m"}) is None
    assert spoken.of({"event": "content-block-delta", "index": 0, "delta": {"type": "unheard-of"}}) is None
    assert spoken.of({"event": "error", "message": "x"}) is None
