"""States of which the server keeps the values: they equal those that the library makes of all values."""

from __future__ import annotations

import json
import operator
import uuid
from typing import Annotated, Any, TypedDict

import pytest
from langgraph.channels import DeltaChannel, LastValue
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, MessagesState, StateGraph
from peer_server import Item, Server

from treadle_python.carried import is_repeatable
from treadle_python.codec import Codec

codec = Codec(JsonPlusSerializer())


def human(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


def filled(server: Server, item: Item) -> Any:
    """The snapshot with what the server kept in its places."""
    assert server.numbered is not None
    snapshot = json.loads(item.segments[0])

    def value(number: int) -> Any:
        assert server.numbered is not None
        return json.loads(codec.wire.dumps(codec.decode("json", server.numbered[number])))

    for name, number in item.meta.get("carried", {}).items():
        assert snapshot["values"][name] is None
        snapshot["values"][name] = value(number)
    return snapshot


async def states(server: Server, asked: dict[str, Any]) -> list[Any]:
    latest = await server.request("state.get", asked)
    history = [item async for item in server.items_of(server.open("state.history", {**asked, "limit": 100}))]
    if not asked.get("carry"):
        return [json.loads(item.segments[0]) for item in (latest, *history)]
    return [filled(server, item) for item in (latest, *history)]


async def both(server: Server, graph: str, thread: str) -> list[Any]:
    """With and without the values; answers how many were kept in each state, after they were compared."""
    asked = {"graphId": graph, "config": {}, "threadId": thread}
    told = await states(server, asked)
    server.numbered = []
    server.received.clear()
    try:
        assert await states(server, {**asked, "carry": True}) == told
    finally:
        server.numbered = None
    return told


def asked_for_texts(server: Server) -> bool:
    return any(method == "saver.texts" for method, _ in server.received)


@pytest.mark.parametrize("graph", ["echo", "talking", "using_tools", "failing"])
async def test_values_that_no_node_makes_an_object_of_stay_with_the_server(shared: Server, graph: str) -> None:
    thread = str(uuid.uuid4())
    for text in ("one", "two"):
        try:
            await shared.run(graph, thread, input=human(text))
        except Exception:
            assert graph == "failing"
    told = await both(shared, graph, thread)
    assert len(told) > 5
    assert any(state["values"].get("messages") for state in told)


async def test_a_plain_state_needs_no_text(shared: Server) -> None:
    thread = str(uuid.uuid4())
    await shared.run("echo", thread, input=human("one"))
    asked = {"graphId": "echo", "config": {}, "threadId": thread, "carry": True}
    shared.numbered = []
    shared.received.clear()
    try:
        item = await shared.request("state.get", asked)
    finally:
        shared.numbered = None
    assert set(item.meta["carried"]) == {"messages"}
    assert not asked_for_texts(shared)


@pytest.mark.parametrize("graph", ["approval", "nested", "fanning", "side"])
async def test_tasks_that_wait_or_are_done_are_told_alike(shared: Server, graph: str) -> None:
    thread = str(uuid.uuid4())
    await shared.run(graph, thread, input={**human("x"), "seen": ["first"]})
    told = await both(shared, graph, thread)
    if graph == "side":
        # What is done is in the latest state already, so the graph looked into it.
        assert told[0]["values"]["seen"] == ["first", "half"]
    if graph != "fanning":
        assert told[0]["next"]
        await shared.run(graph, thread, command={"resume": "yes"})
        await both(shared, graph, thread)


async def test_a_state_that_is_an_object_is_computed_from_its_values(shared: Server) -> None:
    thread = str(uuid.uuid4())
    await shared.run("checked", thread, input=human("x"))
    await both(shared, "checked", thread)
    assert asked_for_texts(shared)


async def test_a_command_that_was_not_taken_yet_is_applied(shared: Server) -> None:
    thread = str(uuid.uuid4())
    await shared.run("approval", thread, input={"messages": [], "seen": ["first"]})
    update = {"update": {"seen": ["second"]}}
    await shared.run("approval", thread, command={**update, "resume": "yes"})
    assert (await both(shared, "approval", thread))[0]["values"]["seen"] == ["first", "second", "'yes'"]


class Expiring(LastValue[Any]):
    """What it hands out is its author's."""


class Counted(list[Any]):
    """Its author may make it with anything in it."""


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (str, True),
        (Annotated[list[Any], operator.add], True),
        (Annotated[int, operator.add], True),
        (Annotated[Counted, operator.add], False),
        (Annotated[Any, Expiring], False),
        (Annotated[list[Any], DeltaChannel(operator.add)], False),
    ],
)
def test_a_checkpoint_gives_one_state_unless_its_author_has_a_part_in_it(kind: Any, expected: bool) -> None:
    state = TypedDict("State", {"value": kind})  # noqa: UP013 (the class has a parameter)
    graph = StateGraph(state).add_node("node", lambda _: {}).add_edge(START, "node").compile()
    assert is_repeatable(graph) is expected


def test_a_conversation_gives_one_state() -> None:
    graph = StateGraph(MessagesState).add_node("node", lambda _: {}).add_edge(START, "node").compile()
    assert is_repeatable(graph)
