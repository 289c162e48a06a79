"""Runs the library's own suite for checkpointers against the one this run was given."""

from typing import TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    failed: dict[str, list[str]]
    passed: dict[str, int]


async def check(state: State, config: RunnableConfig) -> dict:
    from langgraph.checkpoint.conformance import checkpointer_test, validate

    saver = config["configurable"]["__pregel_checkpointer"]

    @checkpointer_test(name="treadle")
    async def checkpointer():
        yield saver

    results = (await validate(checkpointer)).results
    return {
        "passed": {name: result.tests_passed for name, result in results.items() if result.detected},
        "failed": {name: result.failures for name, result in results.items() if result.failures},
    }


graph = StateGraph(State).add_node("check", check).add_edge(START, "check").compile()
