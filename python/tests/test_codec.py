"""The stored format: what Python writes it reads, and what only it has survives beside a view for others."""

from __future__ import annotations

import base64
import dataclasses
import datetime
import decimal
import enum
import json
import re
import sqlite3
import uuid
from typing import Any

import numpy
import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Interrupt, Send

from treadle_python.checkpoint_texts import is_inline, number_text
from treadle_python.codec import Codec, Unserializable

codec = Codec(JsonPlusSerializer())


def back(value: Any, channel: str = "") -> Any:
    payload = codec.encode(value, channel)
    return codec.decode(payload.type, payload.text, channel)


messages: dict[str, Any] = {
    "human": HumanMessage("hello"),
    "human with everything": HumanMessage(
        content=[{"type": "text", "text": "x\0y é"}],
        id="1",
        name="ann",
        additional_kwargs={"nested": {"deep": [1, None, {"a": None}]}},
        response_metadata={"snake_case": 1},
    ),
    "tool calls": AIMessage(
        "",
        id="2",
        tool_calls=[{"name": "add", "args": {"a": 1}, "id": "call", "type": "tool_call"}],
        usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
    ),
    "chunk": AIMessageChunk(
        "a", tool_call_chunks=[{"name": "add", "args": '{"a":1}', "id": "c", "index": 0, "type": "tool_call_chunk"}]
    ),
    "system": SystemMessage("be brief"),
    "tool": ToolMessage("3", tool_call_id="call", status="error", artifact={"rows": [1, 2]}),
    "function": FunctionMessage("1", name="f"),
    "removal": RemoveMessage(id="9"),
    "role": ChatMessage("x", role="critic"),
}


@pytest.mark.parametrize("message", messages.values(), ids=messages.keys())
def test_messages_come_back(message: Any) -> None:
    payload = codec.encode({"messages": [message], "n": 1})
    assert payload.type == "json"
    [revived] = codec.decode(payload.type, payload.text)["messages"]
    assert type(revived) is type(message)
    assert revived == message
    assert revived.model_dump() == message.model_dump()


@pytest.mark.parametrize("message", messages.values(), ids=messages.keys())
def test_a_message_that_came_back_can_be_used(message: Any) -> None:
    [revived] = back([message])
    revived.additional_kwargs["x"] = 1
    [other] = back([type(message).model_validate(message.model_dump())])
    assert "x" not in other.additional_kwargs
    assert revived.model_copy(deep=True) == revived


class Colour(enum.Enum):
    RED = "red"


class Point(pydantic.BaseModel):
    x: int
    at: datetime.datetime | None = None


@dataclasses.dataclass
class Pair:
    left: int
    right: str


class Mine(HumanMessage):
    pass


only_python: dict[str, Any] = {
    "pydantic": Point(x=1),
    "dataclass": Pair(1, "b"),
    "datetime": datetime.datetime(2026, 1, 2, tzinfo=datetime.timezone.utc),
    "enum": Colour.RED,
    "uuid": uuid.UUID(int=5),
    "large integer": 2**60,
    "decimal": decimal.Decimal("1.5"),
    "document": Document(page_content="text", metadata={"a": 1}),
    "subclass of a message": Mine("x"),
    "date": datetime.date(2026, 1, 2),
}


@pytest.mark.parametrize("value", only_python.values(), ids=only_python.keys())
def test_what_only_python_has_survives_beside_a_view(value: Any) -> None:
    payload = codec.encode({"a": [value], "b": "plain"})
    assert payload.type == "python"
    text = json.loads(payload.text)
    assert text["view"]["b"] == "plain"
    revived = codec.decode(payload.type, payload.text)["a"][0]
    assert type(revived) is type(value)
    assert revived == value


def test_views_are_what_clients_read() -> None:
    view = json.loads(codec.encode([Point(x=1), Colour.RED, Pair(1, "b"), float("nan")]).text)["view"]
    assert view == [{"x": 1, "at": None}, "red", {"left": 1, "right": "b"}, None]


def test_numpy_survives() -> None:
    array = numpy.array([[1.5, 2.0]])
    payload = codec.encode(array)
    assert json.loads(payload.text)["view"] == [[1.5, 2.0]]
    assert (codec.decode(payload.type, payload.text) == array).all()


both: dict[str, Any] = {
    "set": {1, 2},
    "map": {1: "a", 2: {"b": None}},
    "pattern": re.compile("a+", re.IGNORECASE | re.MULTILINE),
    "bytes inside": {"raw": b"\0\xff"},
    "lone surrogate": "a\0b \ud83d c",
    "float": 1.0,
    "nothing": None,
    "deep": [[[[{"a": [1, {"b": "é"}]}]]]],
}


@pytest.mark.parametrize("value", both.values(), ids=both.keys())
def test_what_both_languages_have_is_json(value: Any) -> None:
    payload = codec.encode(value)
    assert payload.type == "json"
    assert back(value) == value


def test_bytes_are_base64() -> None:
    payload = codec.encode(b"\x01\xfe")
    assert (payload.type, payload.text) == ("bytes", base64.b64encode(b"\x01\xfe"))
    assert back(b"\x01\xfe") == b"\x01\xfe"


def test_channels_of_the_library_are_told_by_name() -> None:
    sends = [Send("node", {"messages": [HumanMessage("x")]})]
    payload = codec.encode(sends, "__pregel_tasks")
    assert payload.type == "json" and json.loads(payload.text)[0]["node"] == "node"
    assert back(sends, "__pregel_tasks") == sends
    assert back(sends[0], "__pregel_tasks") == sends[0]
    interrupt = Interrupt({"question": "?"}, id="a" * 32)
    assert json.loads(codec.encode([interrupt], "__interrupt__").text) == [{"id": "a" * 32, "value": {"question": "?"}}]
    assert back([interrupt], "__interrupt__") == [interrupt]
    assert json.loads(codec.encode(ValueError("no"), "__error__").text) == {"message": "no", "name": "ValueError"}
    assert codec.decode("json", b'["a"]', "join:a+b:c") == {"a"}


@pytest.mark.parametrize(
    "fake",
    [
        {"lc": 1, "type": "constructor", "id": ["nowhere", "Thing"], "kwargs": {}},
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "messages", "HumanMessage"],
            "kwargs": {"content": 5.5},
        },
        {
            "lc": 1,
            "type": "constructor",
            "id": ["langchain_core", "messages", "ToolMessage"],
            "kwargs": {"content": "x"},
        },
        {"lc": 1, "type": "constructor", "id": [{}], "kwargs": []},
        {"lc": 2, "type": "constructor", "id": ["Set"], "args": [[{}]]},
        {"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["true"]},
        {"lc": 2, "type": "constructor", "id": ["RegExp"], "args": ["("]},
        {"lc": 1, "type": "secret", "id": ["HOME"]},
        {"lc": 1},
        {"view": 1, "data": "gqF1"},
    ],
)
def test_data_that_only_looks_like_a_record_stays_data(fake: Any) -> None:
    assert back({"fake": fake}) == {"fake": fake}


def test_what_cannot_be_stored_is_named() -> None:
    with pytest.raises(Unserializable, match=r"node 'a': the value at db\['x'\]\[1\] is a sqlite3.Connection"):
        codec.encode({"x": [1, sqlite3.connect(":memory:")]}, "db", "node 'a': ")


def test_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="pickle"):
        codec.decode("pickle", b"")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters()), inner, max_size=5),
    max_leaves=25,
)


@given(json_values)
def test_any_json_comes_back(value: Any) -> None:
    payload = codec.encode(value)
    assert payload.type == "json"
    payload.text.decode()
    assert back(value) == value
    json.loads(codec.wire.dumps(value))


@given(st.text(max_size=200), json_values, st.dictionaries(st.text(), json_values, max_size=3))
def test_any_message_comes_back(text: str, extra: Any, metadata: Any) -> None:
    message = AIMessage(text, additional_kwargs={"extra": extra}, response_metadata=metadata, id=text or None)
    assert back([message]) == [message]


@given(st.binary(max_size=60))
def test_any_stored_text_is_read_or_refused(text: bytes) -> None:
    try:
        codec.decode("json", text, "messages")
    except ValueError:
        pass


def test_cycles_go_out_cut() -> None:
    value: dict[str, Any] = {"a": 1}
    value["self"] = value
    assert json.loads(codec.wire.dumps(value)) == {"a": 1, "self": "[Circular]"}


def test_messages_go_out_flat() -> None:
    wire = json.loads(codec.wire.dumps([AIMessageChunk("a", id="1"), ChatMessage("x", role="critic"), Mine("y")]))
    assert [one["type"] for one in wire] == ["ai", "generic", "human"]
    assert wire[0]["tool_calls"] == []


def test_small_values_are_inline() -> None:
    inline = [None, True, 1, 1.5, "x" * 256, "é" * 256]
    assert all(map(is_inline, inline))
    stored = ["x" * 257, "\U0001f600" * 129, float("nan"), 2**53, [], {}, b""]
    assert not any(map(is_inline, stored))


def test_versions_are_printed_as_javascript_does() -> None:
    assert [number_text(version) for version in (1, 2.0, 1.871040961, "3.a")] == ["1", "2", "1.871040961", "3.a"]
