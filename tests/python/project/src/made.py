"""A graph that is made anew for each use, from its config and the server's runtime, and put away after it."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph
from langgraph_sdk.runtime import ServerRuntime


class State(TypedDict, total=False):
    said: str
    folder: str
    access: str
    in_store: str


@asynccontextmanager
async def make_graph(config: RunnableConfig, runtime: ServerRuntime):
    word = config.get("configurable", {}).get("word", "nothing")
    folder = config.get("configurable", {}).get("folder")

    # What a factory reads before the graph runs.
    kept = await runtime.store.aget(("made",), "word") if runtime.execution_runtime else None

    async def say(state: State) -> dict:
        if folder:
            (Path(folder) / "began").touch()
            await asyncio.sleep(600)
        access = f"{runtime.access_context}, runs: {runtime.execution_runtime is not None}"
        return {"said": word, "access": access, "in_store": kept.value["said"] if kept else "nothing"}

    try:
        node = "say" if runtime.execution_runtime else f"seen_by_{runtime.access_context.replace('.', '_')}"
        yield StateGraph(State).add_node(node, say).add_edge(START, node).compile()
    finally:
        if folder:
            (Path(folder) / "closed").touch()
