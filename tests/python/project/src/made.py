"""A graph that is made anew for each run, from its config, and put away after it."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    said: str
    folder: str


@asynccontextmanager
async def make_graph(config: RunnableConfig):
    word = config.get("configurable", {}).get("word", "nothing")
    folder = config.get("configurable", {}).get("folder")

    async def say(state: State) -> dict:
        if folder:
            (Path(folder) / "began").touch()
            await asyncio.sleep(600)
        return {"said": word}

    try:
        yield StateGraph(State).add_node("say", say).add_edge(START, "say").compile()
    finally:
        if folder:
            (Path(folder) / "closed").touch()
