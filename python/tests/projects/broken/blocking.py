import asyncio
import re
import time

from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    seconds: float


async def block(state: State) -> State:
    time.sleep(state["seconds"])  # noqa: ASYNC251
    return {}


graph = StateGraph(State).add_node(block).add_edge(START, "block").compile()


async def step(state: State) -> State:
    """Gives way to others all the time."""
    end = time.monotonic() + state["seconds"]
    while time.monotonic() < end:
        await asyncio.sleep(0)
    return {}


stepping = StateGraph(State).add_node(step).add_edge(START, "step").compile()


async def hold(state: State) -> State:
    re.match(r"(a+)+$", "a" * 64 + "b")
    return {}


holding = StateGraph(State).add_node(hold).add_edge(START, "hold").compile()
