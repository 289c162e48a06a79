"""Texts that both languages must read: those that JavaScript wrote, and those that its tests read of ours.

`TREADLE_UPDATE_GOLDENS=1 pytest` writes ours anew; those of JavaScript are written by `vitest --update`.
"""

from __future__ import annotations

import datetime
import json
import os
import uuid
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from treadle_python.codec import Codec

codec = Codec(JsonPlusSerializer())
# What only Python has is kept with every field of its class, and messages had more before langchain-core 1.
_writes_as_kept = int(version("langchain-core").partition(".")[0]) >= 1
FOLDER = Path(__file__).parent / "goldens"
THEIRS: list[dict[str, Any]] = json.loads((FOLDER / "javascript.json").read_text())

OURS: dict[str, tuple[Any, str]] = {
    "plain data": ({"a": [1, -2.5, True, None, "x"], "b": {"c": []}}, ""),
    "text of all kinds": ('é 🌱 \0 \u2028 " \\ / \n', ""),
    "a human message": (HumanMessage("hi", id="1", name="ann"), ""),
    "an answer with tool calls": (
        AIMessage(
            "",
            id="2",
            tool_calls=[{"name": "add", "args": {"a": 1}, "id": "call", "type": "tool_call"}],
            usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
        ),
        "",
    ),
    "a chunk": (AIMessageChunk("a", id="3"), ""),
    "a system message": (SystemMessage("be brief", id="4"), ""),
    "a tool's answer": (ToolMessage("3", tool_call_id="call", id="5", name="add"), ""),
    "a removal": (RemoveMessage(id="1"), ""),
    "a set": ({"set": {1, 2}}, ""),
    "a time and an id": (
        {
            "at": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=datetime.timezone.utc),
            "id": uuid.UUID(int=7),
            "said": [HumanMessage("in between", id="6")],
        },
        "",
    ),
    "sends": ([Send("work", {"n": 1})], "__pregel_tasks"),
    "interrupts": ([Interrupt("sure?", id="7")], "__interrupt__"),
}


@pytest.mark.parametrize("case", THEIRS, ids=[case["name"] for case in THEIRS])
def test_what_javascript_wrote_is_read_and_written_again(case: dict[str, Any]) -> None:
    channel = case.get("channel", "")
    value = codec.decode("json", case["text"].encode(), channel)
    if not case.get("onlyThere"):
        assert json.loads(codec.encode(value, channel).text) == json.loads(case["text"])
    if "wire" in case:
        assert json.loads(codec.wire.dumps(value)) == case["wire"]


def test_what_python_writes_is_what_javascript_is_tested_with() -> None:
    written = []
    for name, (value, channel) in OURS.items():
        payload = codec.encode(value, channel)
        wire = json.loads(codec.wire.dumps(value))
        written.append({"name": name, "type": payload.type, "text": payload.text.decode(), "wire": wire})
    file = FOLDER / "python.json"
    if os.environ.get("TREADLE_UPDATE_GOLDENS"):
        file.write_text(json.dumps(written, indent=2, ensure_ascii=False) + "\n")
    known = json.loads(file.read_text())
    if _writes_as_kept:
        assert known == written
    for golden, made, (_, channel) in zip(known, written, OURS.values(), strict=True):
        # Every version reads what the newest wrote, and shows the same to others.
        assert repr(codec.decode(golden["type"], golden["text"].encode(), channel)) == repr(
            codec.decode(made["type"], made["text"].encode(), channel)
        )
        assert (golden["name"], golden["type"], golden["wire"]) == (made["name"], made["type"], made["wire"])
        if golden["type"] == "python":
            assert json.loads(golden["text"])["view"] == json.loads(made["text"])["view"]
        else:
            assert golden["text"] == made["text"]
