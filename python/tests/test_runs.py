"""Runs over real sockets, in a real worker process."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from conftest import PROJECTS
from peer_server import CallFailed, Server

from treadle_python.frames import Kind

BASIC = str(PROJECTS / "basic")


def human(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text}]}


async def test_a_run_streams_values_and_keeps_checkpoints(server: Server) -> None:
    report = await server.load(BASIC, {"echo": "agent.py:echo"})
    assert report["graphs"] == [{"graphId": "echo", "isFactory": False}]
    events = await server.run("echo", input=human("hello"))
    name, values = events[-1]
    assert name == "values"
    assert [message["type"] for message in values["messages"]] == ["human", "ai"]
    assert values["messages"][1]["content"] == "you said hello"
    assert values["count"] == 1
    assert len(server.checkpoints["t1", ""]) == 3
    again = await server.run("echo", input=human("more"))
    assert len(again[-1][1]["messages"]) == 4
    assert again[-1][1]["count"] == 2


async def test_what_is_printed_is_a_log_line_of_the_run(server: Server) -> None:
    await server.load(BASIC, {"echo": "agent.py:echo"})
    await server.run("echo", input=human("hello"))
    assert {
        "level": "info",
        "logger": "stdout",
        "message": "answering",
        "runId": "00000000-0000-4000-8000-000000000001",
    } in server.logs


@pytest.mark.parametrize("answer", [True, False, 0, "", {}, [], {"a": 1}, "yes"])
async def test_an_interrupt_takes_any_answer(server: Server, answer: Any) -> None:
    await server.load(BASIC, {"approval": "agent.py:approval"})
    call = server.start_run("approval", input={"messages": []})
    invited = [item.meta["invites"] async for item in server.items_of(call)]
    assert True in invited
    events = await server.run("approval", command={"resume": answer})
    assert events[-1][1]["seen"] == [repr(answer)]


async def test_cancelling_stops_synchronous_code(server: Server) -> None:
    await server.load(BASIC, {"spinning": "agent.py:spinning"})
    call = server.start_run("spinning", input={"messages": []})
    async for _ in server.items_of(call):
        break
    server.send(Kind.CANCEL, call)
    while not (await server.control({"interrupt": call}))["found"]:
        await asyncio.sleep(0.01)
    with pytest.raises(CallFailed) as failed:
        async for _ in server.items_of(call):
            pass
    assert failed.value.meta["code"] == "cancelled"


async def test_a_refused_checkpoint_stops_the_run(server: Server) -> None:
    await server.load(BASIC, {"echo": "agent.py:echo"})
    server.refuse["saver.put"] = {"type": "LeaseLost", "message": "another attempt has it", "code": "run.lease_lost"}
    with pytest.raises(CallFailed) as failed:
        await server.run("echo", input=human("hello"))
    assert failed.value.meta["code"] == "run.lease_lost"


async def test_state_history_and_update(server: Server) -> None:
    await server.load(BASIC, {"echo": "agent.py:echo"})
    await server.run("echo", input=human("hello"))
    asked = {"graphId": "echo", "config": {}, "threadId": "t1"}
    state = json.loads((await server.request("state.get", asked)).segments[0])
    assert state["next"] == [] and len(state["values"]["messages"]) == 2
    assert state["config"]["configurable"]["thread_id"] == "t1"
    call = server.open("state.history", {**asked, "limit": 10})
    history = [json.loads(item.segments[0]) async for item in server.items_of(call)]
    assert [one["metadata"]["step"] for one in history] == [1, 0, -1]
    updated = await server.request("state.update", {**asked, "asNode": "answer"}, b'{"count": 41}')
    assert updated.meta["configurable"]["checkpoint_id"] == max(server.checkpoints["t1", ""])
    events = await server.run("echo", input=human("again"))
    assert events[-1][1]["count"] == 42
