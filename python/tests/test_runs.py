"""Runs over real sockets, in a real worker process."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import uuid
from typing import Any

import pytest
from peer_server import CallFailed, Server

from treadle_python.frames import Kind

newer = pytest.mark.skipif(
    importlib.util.find_spec("langgraph.pregel._tools") is None,
    reason="this version of langgraph has neither content blocks nor the mode `tools`",
)
RUN_ID = "00000000-0000-4000-8000-000000000001"


def human(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


@pytest.fixture
def thread() -> str:
    return str(uuid.uuid4())


async def until(server: Server, message: str) -> None:
    """A log line may come after the answer."""
    while not any(line["message"] == message for line in server.logs):
        await asyncio.sleep(0.01)


async def test_a_run_streams_values_and_keeps_checkpoints(shared: Server, thread: str) -> None:
    events = await shared.run("echo", thread, input=human("hello"))
    name, values = events[-1]
    assert name == "values"
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]
    assert values["messages"][1]["content"] == "you said hello"
    assert values["count"] == 1
    assert len(shared.checkpoints[thread, ""]) == 3
    again = await shared.run("echo", thread, input=human("more"))
    assert len(again[-1][1]["messages"]) == 4
    assert again[-1][1]["count"] == 2


async def test_what_is_printed_is_a_log_line_of_the_run(shared: Server, thread: str) -> None:
    await shared.run("echo", thread, input=human("hello"))
    line = {"level": "info", "logger": "stdout", "message": "answering", "runId": RUN_ID}
    while line not in shared.logs:
        await asyncio.sleep(0.01)


async def test_a_builder_that_is_not_compiled_is_compiled(shared: Server, thread: str) -> None:
    assert (await shared.run("plain_builder", thread, input=human("x")))[-1][1]["count"] == 1


@pytest.mark.parametrize("answer", [True, False, 0, "", {}, [], {"a": 1}, "yes"])
async def test_an_interrupt_takes_any_answer(shared: Server, thread: str, answer: Any) -> None:
    call = shared.start_run("approval", thread, input={"messages": []}, stream_mode=["updates"])
    invited = [item.meta["invites"] async for item in shared.items_of(call)]
    assert True in invited
    events = await shared.run("approval", thread, command={"resume": answer})
    assert events[-1][1]["seen"] == [repr(answer)]


async def test_a_task_that_asks_again_waits_for_that_answer(shared: Server, thread: str) -> None:
    """Also with versions of the library that take the first answer for the result of the task."""
    await shared.run("asking_twice", thread, input={"seen": []})
    await shared.run("asking_twice", thread, command={"resume": "yes"})
    asked = {"graphId": "asking_twice", "config": {}, "threadId": thread}
    state = json.loads((await shared.request("state.get", asked)).segments[0])
    [task] = state["tasks"]
    assert [one["value"] for one in task["interrupts"]] == ["Really?"]
    assert "result" not in task and state["next"] == ["ask_twice"]
    assert (await shared.run("asking_twice", thread, command={"resume": ""}))[-1][1]["seen"] == ["yes, "]


@pytest.mark.parametrize("graph", ["paused", "calling_pausing"])
@pytest.mark.parametrize("modes", [["values"], ["updates"], ["messages-tuple"], ["custom"]])
async def test_a_stop_at_a_node_is_told_whatever_was_asked_for(
    shared: Server, thread: str, graph: str, modes: list[str]
) -> None:
    call = shared.start_run(graph, thread, input={"seen": ["first"]}, stream_mode=modes)
    items = [item async for item in shared.items_of(call)]
    assert [item.meta["invites"] for item in items][-1] is True
    assert items[-1].meta["mode"] == "values"


async def test_a_command_updates_and_goes_to_a_node(shared: Server, thread: str) -> None:
    await shared.run("echo", thread, input=human("x"))
    update = {"messages": [{"role": "user", "content": "again"}]}
    events = await shared.run("echo", thread, command={"update": update, "goto": "answer"})
    assert [one["content"] for one in events[-1][1]["messages"]][-1] == "you said again"
    events = await shared.run("fanning", thread, command={"goto": [{"node": "one", "input": {"seen": ["7"]}}]})
    assert "got 7" in events[-1][1]["seen"]


async def test_stream_modes(shared: Server, thread: str) -> None:
    modes = ["values", "updates", "messages", "messages-tuple", "custom", "tasks", "checkpoints", "debug"]
    events = await shared.run("talking", thread, input=human("x"), stream_mode=modes)
    by_name: dict[str, list[Any]] = {}
    for name, data in events:
        by_name.setdefault(name, []).append(data)
    assert by_name["custom"] == [{"progress": 1}]
    partial = [data[0]["content"] for data in by_name["messages/partial"]]
    assert partial == ["one", "one ", "one two", "one two ", "one two three", "one two three"][: len(partial)]
    assert partial[-1] == "one two three"
    assert by_name["messages"][0][0]["content"] == "one"
    assert by_name["messages"][0][0]["type"] == "ai"
    assert len(by_name["messages/metadata"]) == 1
    assert [data[0]["type"] for data in by_name["messages/complete"]] == ["human", "ai"]
    assert by_name["checkpoints"][-1].keys() == {"values", "metadata", "next"}
    assert {data["name"] for data in by_name["tasks"]} == {"talk"}
    checkpoint = [data for data in by_name["debug"] if data["type"] == "checkpoint"][-1]["payload"]
    assert checkpoint["checkpoint"]["thread_id"] == thread
    assert "parent_config" in checkpoint and "__pregel_checkpointer" not in json.dumps(checkpoint)
    assert by_name["updates"][0]["talk"]["messages"][0]["content"] == "one two three"


async def test_callback_events(shared: Server, thread: str) -> None:
    events = await shared.run("talking", thread, input=human("x"), stream_mode=["events", "values"])
    kinds = {data["event"] for name, data in events if name == "events"}
    assert {"on_chain_start", "on_chat_model_stream", "on_chain_end"} <= kinds
    assert events[-1][0] in ("events", "values")
    assert any(name == "values" for name, _ in events)


@pytest.mark.parametrize(("durability", "kept"), [("sync", 3), ("async", 3), ("exit", 1)])
async def test_durability(shared: Server, thread: str, durability: str, kept: int) -> None:
    await shared.run("echo", thread, input=human("x"), durability=durability)
    assert len(shared.checkpoints[thread, ""]) == kept


async def test_subgraphs_stream_with_their_namespace(shared: Server, thread: str) -> None:
    events = await shared.run("nested", thread, input={"seen": []}, subgraphs=True, stream_mode=["values", "updates"])
    assert any(name.startswith("values|inner:") for name, _ in events)
    asked = {"graphId": "nested", "config": {}, "threadId": thread, "subgraphs": True}
    state = json.loads((await shared.request("state.get", asked)).segments[0])
    assert state["next"] == ["inner"]
    inner = state["tasks"][0]["state"]
    namespace = inner["config"]["configurable"]["checkpoint_ns"]
    assert inner["next"] == ["ask"] and namespace.startswith("inner:")
    address = {"checkpoint_ns": namespace}
    got = json.loads((await shared.request("state.get", {**asked, "address": address})).segments[0])
    assert got["next"] == ["ask"]
    events = await shared.run("nested", thread, command={"resume": "yes"})
    assert events[-1][1]["seen"] == ["'yes'"]


async def test_a_run_goes_on_from_a_checkpoint_of_the_past(shared: Server, thread: str) -> None:
    await shared.run("echo", thread, input=human("one"))
    first = max(shared.checkpoints[thread, ""])
    await shared.run("echo", thread, input=human("two"))
    events = await shared.run("echo", thread, input=human("three"), checkpoint={"checkpoint_id": first})
    said = [one["content"] for one in events[-1][1]["messages"]]
    assert said == ["one", "you said one", "three", "you said three"]


async def test_a_resumed_attempt_goes_on_where_the_last_one_stopped(shared: Server, thread: str) -> None:
    await shared.run("approval", thread, input={"messages": []})
    events = await shared.run("approval", thread, {"resume": True, "attempt": 2}, input={"seen": ["again"]})
    assert events and "again" not in json.dumps(events)


async def test_the_prefetched_checkpoint_is_not_asked_for_again(shared: Server, thread: str) -> None:
    await shared.run("echo", thread, input=human("one"))
    meta, *texts = shared.stored(thread, "", max(shared.checkpoints[thread, ""]))
    shared.received.clear()
    call = shared.start_run("echo", thread, {"prefetched": meta}, input=human("two"), stored=texts)
    items = [item async for item in shared.items_of(call)]
    values = json.loads(items[-1].segments[items[-1].meta["chunk"] - 1])
    assert len(values["messages"]) == 4
    assert "saver.get" not in [method for method, _ in shared.received]


async def test_a_failure_is_told_by_class_and_text(shared: Server, thread: str) -> None:
    with pytest.raises(CallFailed) as failed:
        await shared.run("failing", thread, input=human("x"))
    assert failed.value.meta["type"] == "ValueError"
    assert failed.value.meta["message"] == "no good"
    assert "agent.py" in failed.value.meta["traceback"]
    asked = {"graphId": "failing", "config": {}, "threadId": thread}
    state = json.loads((await shared.request("state.get", asked)).segments[0])
    assert state["next"] == ["fail"]
    assert state["tasks"][0]["error"] == {"message": "no good", "name": "ValueError"}


async def test_what_cannot_be_stored_is_named(shared: Server, thread: str) -> None:
    with pytest.raises(CallFailed) as failed:
        await shared.run("unstorable", thread, input={})
    assert "node 'hold'" in failed.value.meta["message"]
    assert "connection" in failed.value.meta["message"] and "sqlite3.Connection" in failed.value.meta["message"]


async def test_cancelling_stops_asynchronous_code(shared: Server, thread: str) -> None:
    call = shared.start_run("waiting", thread, input={"messages": []})
    await anext(shared.items_of(call))
    shared.send(Kind.CANCEL, call)
    with pytest.raises(CallFailed) as failed:
        [item async for item in shared.items_of(call)]
    assert failed.value.meta["code"] == "cancelled"


async def test_cancelling_stops_synchronous_code(shared: Server, thread: str) -> None:
    call = shared.start_run("spinning", thread, input={"messages": []})
    while f"(call {call})" not in (await shared.control({"dump": 1}))["stack"]:
        await asyncio.sleep(0.01)
    shared.send(Kind.CANCEL, call)
    while not (await shared.control({"interrupt": call}))["found"]:
        await asyncio.sleep(0.01)
    with pytest.raises(CallFailed) as failed:
        [item async for item in shared.items_of(call)]
    assert failed.value.meta["code"] == "cancelled"
    assert not (await shared.control({"interrupt": call}))["found"]


async def test_a_refused_checkpoint_stops_the_run(server: Server) -> None:
    await server.load(str(server.directory), {"echo": "agent.py:echo"})
    server.refuse["saver.put"] = {"type": "LeaseLost", "message": "another attempt has it", "code": "run.lease_lost"}
    with pytest.raises(CallFailed) as failed:
        await server.run("echo", input=human("hello"))
    assert failed.value.meta["code"] == "run.lease_lost"


async def test_state_history_update_and_fill(shared: Server, thread: str) -> None:
    await shared.run("echo", thread, input=human("hello"))
    asked = {"graphId": "echo", "config": {}, "threadId": thread}
    state = json.loads((await shared.request("state.get", asked)).segments[0])
    assert state["next"] == [] and len(state["values"]["messages"]) == 2
    assert state["config"]["configurable"]["thread_id"] == thread
    call = shared.open("state.history", {**asked, "limit": 10})
    history = [json.loads(item.segments[0]) async for item in shared.items_of(call)]
    assert [one["metadata"]["step"] for one in history] == [1, 0, -1]
    before = {"checkpoint_id": history[0]["config"]["configurable"]["checkpoint_id"]}
    call = shared.open("state.history", {**asked, "limit": 1, "before": before})
    assert [json.loads(item.segments[0])["metadata"]["step"] async for item in shared.items_of(call)] == [0]
    updated = await shared.request("state.update", {**asked, "asNode": "answer"}, b'{"count": 41}')
    assert updated.meta["configurable"]["checkpoint_id"] == max(shared.checkpoints[thread, ""])
    assert (await shared.run("echo", thread, input=human("again")))[-1][1]["count"] == 42
    steps = [
        {"updates": [{"values": {"count": 5}, "as_node": "__input__"}]},
        {"updates": [{"values": {"count": 6}, "as_node": "answer"}]},
    ]
    await shared.request("state.fill", {**asked, "threadId": f"{thread}-copy"}, json.dumps(steps).encode())
    filled = json.loads((await shared.request("state.get", {**asked, "threadId": f"{thread}-copy"})).segments[0])
    assert filled["values"]["count"] == 6


async def test_a_factory_is_closed_when_its_run_ends(shared: Server, thread: str) -> None:
    config = {"configurable": {"name": thread}}
    events = await shared.run("made", thread, input={"seen": []}, config=config)
    assert events[-1][1]["seen"] == [f"hello {thread}"]
    await until(shared, f"open {thread} for threads.create_run")
    await until(shared, f"close {thread}")


async def test_a_factory_is_closed_when_its_run_is_cancelled(shared: Server, thread: str) -> None:
    call = shared.start_run("made", thread, input={"seen": []}, config={"configurable": {"name": "sleeper"}})
    await anext(shared.items_of(call))
    shared.send(Kind.CANCEL, call)
    with pytest.raises(CallFailed):
        [item async for item in shared.items_of(call)]
    await until(shared, "close sleeper")


@pytest.mark.parametrize(("context", "model"), [({"model": "big", "other": 1}, "big"), ({}, "small"), (None, "small")])
async def test_context_without_keys_it_does_not_have(shared: Server, thread: str, context: Any, model: str) -> None:
    events = await shared.run("typed", thread, input={"seen": []}, context=context)
    assert events[-1][1]["seen"] == [model]


async def test_the_store_from_both_kinds_of_nodes(shared: Server, thread: str) -> None:
    events = await shared.run("remembering", thread, input={"seen": []})
    assert events[-1][1]["seen"] == ["tea", "1 of [('notes', 'ann')]"]
    assert shared.items == {}


async def test_without_credit_nothing_more_is_produced(shared: Server, thread: str) -> None:
    call = shared.start_run("large", thread, input={"size": 2_000_000}, stream_mode=["values", "updates", "debug"])
    items = shared.items_of(call, grant=False)
    sizes = []
    with pytest.raises(asyncio.TimeoutError):
        while True:
            item = await asyncio.wait_for(anext(items), 1)
            sizes.append(sum(map(len, item.segments)))
    assert sum(sizes) >= 1024 * 1024 and sum(1 for size in sizes if size > 1_000_000) == 1
    shared.send(Kind.CREDIT, call, {"items": 1000, "bytes": 1 << 30})
    rest = [item async for item in shared.items_of(call)]
    assert len(rest) >= 1


async def test_a_large_state_goes_through(shared: Server, thread: str) -> None:
    events = await shared.run("large", thread, input={"size": 20_000_000})
    assert len(events[-1][1]["text"]) == 20_000_000


async def test_protocol_runs_carry_every_chunk(shared: Server, thread: str) -> None:
    call = shared.start_run("nested", thread, {"protocol": True}, input={"seen": []})
    modes = set()
    async for item in shared.items_of(call):
        modes.add(item.meta["mode"])
        json.loads(item.segments[item.meta["chunk"] - 1])
    assert {"values", "tasks", "updates"} <= modes


@pytest.mark.parametrize("stream_mode", [["values"], ["messages-tuple"]])
async def test_protocol_runs_speak_in_pieces(shared: Server, thread: str, stream_mode: list[str]) -> None:
    call = shared.start_run("talking", thread, {"protocol": True}, input=human("x"), stream_mode=stream_mode)
    spoken = []
    async for item in shared.items_of(call):
        if item.meta["mode"] == "messages":
            spoken.append((item.meta["message"], *json.loads(item.segments[item.meta["chunk"] - 1])))
    assert spoken[0][0] == "piece"
    assert "".join(message["content"] for _, message, _ in spoken) == "one two three"
    assert spoken[0][2]["langgraph_node"] == "talk"


async def test_protocol_runs_tell_each_checkpoint_before_its_values(shared: Server, thread: str) -> None:
    call = shared.start_run("nested", thread, {"protocol": True}, input={"seen": []})
    told = []
    async for item in shared.items_of(call):
        if item.meta["mode"] in ("checkpoints", "values"):
            told.append((item.meta["mode"], item.meta["ns"], json.loads(item.segments[item.meta["chunk"] - 1])))
    at = [index for index, (mode, _, _) in enumerate(told) if mode == "checkpoints"]
    assert at
    for index in at:
        following, namespace, _ = told[index + 1]
        assert (following, namespace) == ("values", told[index][1])
        assert {"id", "step", "source"} <= set(told[index][2])


async def test_a_stop_before_a_node_is_told_in_the_values(shared: Server, thread: str) -> None:
    call = shared.start_run("talking", thread, input=human("x"), stream_mode=["values"], interrupt_before=["talk"])
    items = [item async for item in shared.items_of(call)]
    assert items[-1].meta["invites"] and items[-1].meta["root"]
    assert json.loads(items[-1].segments[items[-1].meta["chunk"] - 1]) == {"__interrupt__": []}


async def test_a_command_of_nothing_is_refused_by_name(shared: Server, thread: str) -> None:
    with pytest.raises(Exception, match="Received empty Command input"):
        await shared.run("approval", thread, command={"resume": None})


async def test_protocol_runs_tell_of_questions(shared: Server, thread: str) -> None:
    call = shared.start_run("approval", thread, {"protocol": True}, input={"seen": []}, stream_mode=[])
    invited = []
    async for item in shared.items_of(call):
        if item.meta["invites"]:
            invited.append(json.loads(item.segments[item.meta["chunk"] - 1]))
    assert invited[0]["__interrupt__"][0]["value"] == {"question": "go on?"}


@newer
async def test_tools_are_told_in_the_words_of_the_wire(shared: Server, thread: str) -> None:
    events = await shared.run("using_tools", thread, input=human("x"), stream_mode=["tools"])
    told = [(data["event"], data["toolCallId"], data["name"]) for _, data in events]
    assert told == [("on_tool_start", "c1", "add"), ("on_tool_end", "c1", "add")]
    assert events[0][1]["input"] == {"a": 1}
