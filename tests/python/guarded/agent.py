"""A graph that answers, and one that calls the server it runs in."""

from typing import TypedDict

import pool
from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph_sdk import get_client


class State(TypedDict, total=False):
    text: str
    user: str
    pooled: bool
    events: list[str]


async def echo(state: State, config: RunnableConfig) -> dict:
    user = config["configurable"]["langgraph_auth_user"]
    return {"text": f"You said: {state['text']}", "user": user["identity"], "pooled": pool.is_open()}


async def call(state: State) -> dict:
    client = get_client(headers={"authorization": "Bearer token-ann"})
    events = []
    async for part in client.runs.stream(None, "echo", input={"text": "from inside"}, stream_mode="values"):
        events.append(part.event)
    return {"events": events}


graph = StateGraph(State).add_node("echo", echo).add_edge(START, "echo").compile()
caller = StateGraph(State).add_node("call", call).add_edge(START, "call").compile()
