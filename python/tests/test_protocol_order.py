"""What the streaming protocol is told of a run: order, checkpoints, content."""

from collections.abc import AsyncIterator

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.graph import START, MessagesState, StateGraph

from treadle_python.graph_stream import GraphStream, in_blocks, may_stop_at_nodes
from treadle_python.values_order import Chunk, checkpoint_envelope, checkpoints_first, stops_told


async def _of(*chunks: Chunk) -> AsyncIterator[Chunk]:
    for chunk in chunks:
        yield chunk


async def _ordered(*chunks: Chunk, keeps_all: bool = False) -> list[Chunk]:
    return [chunk async for chunk in checkpoints_first(_of(*chunks), keeps_all)]


async def test_a_checkpoint_comes_before_its_values() -> None:
    task, values, checkpoint = ((), "tasks", 1), ((), "values", 2), ((), "checkpoints", 3)
    assert await _ordered(values, checkpoint, task) == [checkpoint, values, task]


async def test_values_without_a_checkpoint_keep_their_place() -> None:
    first, task, last = ((), "values", 1), ((), "tasks", 2), ((), "values", 3)
    assert await _ordered(first, task, last) == [first, task, last]


async def test_each_level_has_an_order_of_its_own() -> None:
    outer, inner = ((), "values", 1), (("inner:1",), "values", 2)
    outer_checkpoint, inner_checkpoint = ((), "checkpoints", 3), (("inner:1",), "checkpoints", 4)
    told = await _ordered(outer, inner, outer_checkpoint, inner_checkpoint)
    assert told == [outer_checkpoint, outer, inner_checkpoint, inner]


@pytest.mark.parametrize("keeps_all", [False, True])
async def test_a_checkpoint_without_values_is_for_those_who_asked(keeps_all: bool) -> None:
    checkpoint = ((), "checkpoints", 1)
    assert await _ordered(checkpoint, keeps_all=keeps_all) == ([checkpoint] if keeps_all else [])


async def test_questions_that_only_updates_tell_are_in_the_values() -> None:
    left, right = ((), "updates", {"__interrupt__": ("left",)}), ((), "updates", {"__interrupt__": ("right",)})
    told = [chunk async for chunk in stops_told(_of(left, right))]
    assert told == [left, right, ((), "values", {"__interrupt__": ("left", "right")})]


async def test_questions_that_values_tell_are_told_once() -> None:
    asked, values = ((), "updates", {"__interrupt__": ("x",)}), ((), "values", {"__interrupt__": ("x",)})
    inner = (("inner:1",), "updates", {"__interrupt__": ("x",)})
    assert [chunk async for chunk in stops_told(_of(inner, asked, values))] == [inner, asked, values]


def test_a_checkpoint_is_told_by_its_ids() -> None:
    place = {"configurable": {"checkpoint_id": "b"}}
    payload = {"config": place, "parent_config": None, "metadata": {"step": 1, "source": "loop"}, "values": {}}
    assert checkpoint_envelope(payload) == {"id": "b", "step": 1, "source": "loop"}
    parent = {**payload, "parent_config": {"configurable": {"checkpoint_id": "a"}}}
    assert checkpoint_envelope(parent)["parent_id"] == "a"


def test_content_is_told_in_the_words_that_providers_share() -> None:
    thought = [{"type": "thinking", "thinking": "hm", "index": 0}]
    message = AIMessageChunk(content=thought, response_metadata={"model_provider": "anthropic"})
    told = in_blocks(message)
    if hasattr(message, "content_blocks"):
        assert [(block["type"], block["reasoning"]) for block in told.content] == [("reasoning", "hm")]
    assert message.content == thought
    plain = AIMessageChunk(content="hi")
    assert in_blocks(plain) is plain


def _one_node(node: object) -> StateGraph:  # type: ignore[type-arg]
    return StateGraph(MessagesState).add_node("node", node).add_edge(START, "node")  # type: ignore[call-overload, no-any-return]


def test_only_graphs_that_may_stop_at_a_node_stream_updates_unasked() -> None:
    """They cost each step of a run."""
    plain = _one_node(lambda state: {})
    assert not may_stop_at_nodes(plain.compile(), {})
    assert may_stop_at_nodes(plain.compile(), {"interrupt_after": "*"})
    assert may_stop_at_nodes(plain.compile(interrupt_before=["node"]), {})
    assert may_stop_at_nodes(_one_node(plain.compile()).compile(), {})


@pytest.mark.parametrize(
    ("asked", "protocol", "stops", "has"),
    [
        (["values"], False, False, False),
        (["updates"], False, False, True),
        ([], True, False, True),
        ([], False, True, True),
    ],
)
def test_updates_are_streamed_for_a_reason(asked: list[str], protocol: bool, stops: bool, has: bool) -> None:
    assert GraphStream("run", asked, False, protocol, stops).has_updates is has
