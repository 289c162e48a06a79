"""Uses the unmodified `RemoteGraph` by itself and as a node of a local graph. Argument: the address of an agent server."""

import asyncio
import sys
import uuid

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.pregel.remote import RemoteGraph
from langgraph.types import Command
from langgraph_sdk import get_sync_client

url = sys.argv[1]
said = {"messages": [{"role": "user", "content": "hi"}]}


def contents(state):
    return [each["content"] if isinstance(each, dict) else each.content for each in state["messages"]]


async def alone():
    echo = RemoteGraph("echo", url=url)
    config = {"configurable": {"thread_id": str(uuid.uuid4())}}
    with get_sync_client(url=url) as client:
        client.threads.create(thread_id=config["configurable"]["thread_id"])
    assert contents(echo.invoke(said, config)) == ["hi", "You said: hi"]
    assert contents(await echo.ainvoke(said, config)) == ["hi", "You said: hi"] * 2
    state = echo.get_state(config)
    assert len(state.values["messages"]) == 4 and state.next == ()
    assert len([each async for each in echo.aget_state_history(config)]) > 4
    echo.update_state(config, {"messages": [{"role": "user", "content": "more"}]}, as_node="echo")
    assert contents((await echo.aget_state(config)).values)[-1] == "more"
    updates = [each async for each in echo.astream(said, config, stream_mode=["updates", "values"])]
    assert [each.event for each in updates].count("updates") == 1
    assert {node.name for node in echo.get_graph().nodes.values()} >= {"__start__", "echo"}
    approval = RemoteGraph("approval", url=url)
    with get_sync_client(url=url) as client:
        asked = {"configurable": {"thread_id": client.threads.create()["thread_id"]}}
    question = await approval.ainvoke({"subject": "go"}, asked)
    assert question["__interrupt__"][0]["value"] == {"question": "May I go?"}
    assert (await approval.ainvoke(Command(resume="yes"), asked))["answer"] == "yes"


async def within():
    """As a node: what it streams is below the node, and each local thread has one on the server."""
    remote = RemoteGraph("tokens", url=url)
    graph = StateGraph(MessagesState).add_node("remote", remote).add_edge(START, "remote").compile(checkpointer=InMemorySaver())
    with_thread = {"configurable": {"thread_id": str(uuid.uuid4())}}
    parts = [each async for each in graph.astream(said, with_thread, stream_mode=["updates", "custom", "messages"], subgraphs=True)]
    below = {mode for namespace, mode, _ in parts if namespace}
    assert "updates" in below and "custom" in below, parts
    assert contents((await graph.aget_state(with_thread)).values)[-1] == "one two three"
    result = graph.invoke(said, {"configurable": {"thread_id": str(uuid.uuid4())}})
    assert contents(result)[-1] == "one two three"

    failing = StateGraph(dict).add_node("remote", RemoteGraph("trouble", url=url)).add_edge(START, "remote").compile()
    try:
        await failing.ainvoke({"kind": "raise"})
        raise AssertionError("a failure of the remote graph was lost")
    except Exception as error:
        assert "the node's own words" in str(error), repr(error)


asyncio.run(alone())
asyncio.run(within())
print("remote")
