"""Follows runs with the streaming protocol of the unmodified `langgraph-sdk`: messages, tool calls, subagents, custom events,
questions, over both transports. Argument: the address of an agent server."""

import asyncio
import os
import sys

from langgraph_sdk import get_client, get_sync_client

url = sys.argv[1]
said = {"messages": [{"role": "user", "content": "tea"}]}


def check(transport, words, tools, below, custom, values, output):
    assert words == ["", "In short: found: tea"], (transport, words)
    assert tools == [("task", "found: tea")], (transport, tools)
    assert below == [("tools", ["found: tea"])], (transport, below)
    assert custom == [{"name": "progress", "payload": {"percent": 50}}], (transport, custom)
    assert [each["type"] for each in output["messages"]] == ["human", "ai", "tool", "ai"], (transport, output)
    assert len(values[-1]["messages"]) == 4, (transport, values)


async def follow(client, transport):
    async with client.threads.stream(assistant_id="research", transport=transport) as thread:

        # Whoever iterates feeds what was yielded before: all of it first, its content after.
        async def words():
            return [await one.text for one in [each async for each in thread.messages]]

        async def tools():
            called = [each async for each in thread.tool_calls]
            return [(each.name, (await each.output)["content"]) for each in called]

        async def inside(each):
            return each.graph_name, [await one.text for one in [one async for one in each.messages]]

        async def below():
            found = [asyncio.ensure_future(inside(each)) async for each in thread.subgraphs]
            return [await each for each in found]

        async def custom():
            return [each async for each in thread.extensions["progress"]]

        async def values():
            return [each async for each in thread.values]

        every = [asyncio.ensure_future(each()) for each in (words, tools, below, custom, values)]
        started = await thread.run.start(input=said)
        assert started["run_id"]
        told = [await each for each in every]
        check(transport, *told, await thread.output)
        assert (await thread.agent.get_tree(xray=True))["nodes"]

    async with client.threads.stream(assistant_id="approval", transport=transport) as thread:
        await thread.run.start(input={"subject": "go"})
        await asked(lambda: thread.interrupted)
        assert [each["value"] for each in thread.interrupts] == [{"question": "May I go?"}], thread.interrupts
        await thread.run.respond(False)
        state = await answered(lambda: client.threads.get_state(thread.thread_id))
        assert state["values"]["answer"] is False, state


async def asked(is_so):
    for _ in range(1000):
        if is_so():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("nothing was asked")


async def answered(read):
    for _ in range(1000):
        state = await read()
        if "answer" in state["values"]:
            return state
        await asyncio.sleep(0.02)
    raise AssertionError("nothing was answered")


def follow_sync(client, transport):
    with client.threads.stream(assistant_id="research", transport=transport) as thread:
        thread.run.start(input=said)
        names = []
        for event in thread.events:
            names.append(event["method"])
            params = event["params"]
            if event["method"] == "lifecycle" and not params["namespace"] and params["data"]["event"] == "completed":
                break
        assert {"messages", "tools", "values", "lifecycle"} <= set(names), names
        assert len(thread.output["messages"]) == 4
        assert thread.agent.get_tree()["nodes"]
    with client.threads.stream(thread.thread_id, assistant_id="research", transport=transport) as again:
        assert len(again.output["messages"]) == 4


async def follow_all():
    async with get_client(url=url) as client:
        for transport in ("sse", "websocket"):
            await follow(client, transport)


asyncio.run(follow_all())
with get_sync_client(url=url) as client:
    for transport in ("sse", "websocket"):
        follow_sync(client, transport)
print("followed", flush=True)
# The synchronous client may leave a generator whose WebSocket is closed only when the interpreter ends, and then waits for
# a thread that no longer runs.
os._exit(0)
