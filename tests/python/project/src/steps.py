"""Three steps, each of which leaves a line in a file and may wait for another file."""

import asyncio
import operator
import os
from pathlib import Path
from typing import Annotated, TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    folder: str
    wait: str
    done: Annotated[list[str], operator.add]


def step(name: str):
    async def work(state: State) -> dict:
        folder = Path(state["folder"])
        with (folder / "began").open("a") as lines:
            lines.write(f"{name} {os.getpid()}\n")
        if state.get("wait") == name:
            while not (folder / "go").exists():
                await asyncio.sleep(0.02)
        return {"done": [name]}

    return work


graph = (
    StateGraph(State)
    .add_node("first", step("first"))
    .add_node("second", step("second"))
    .add_node("third", step("third"))
    .add_edge(START, "first")
    .add_edge("first", "second")
    .add_edge("second", "third")
    .compile()
)
