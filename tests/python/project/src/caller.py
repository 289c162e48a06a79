"""Calls the server it runs in."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph_sdk import get_client


class State(TypedDict, total=False):
    events: list[str]


async def call(state: State) -> dict:
    said = {"messages": [{"role": "user", "content": "from inside"}]}
    parts = get_client().runs.stream(None, "echo", input=said, stream_mode="values")
    return {"events": [part.event async for part in parts]}


graph = StateGraph(State).add_node("call", call).add_edge(START, "call").compile()
