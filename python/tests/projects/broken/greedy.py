"""Wants more memory than its process may have."""

import resource
from typing import TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    wants: int
    got: int


def take(state: State) -> dict:
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + 256 * 1024 * 1024, before[1]))
    try:
        return {"got": len(bytearray(state["wants"]))}
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


graph = StateGraph(State).add_node("take", take).add_edge(START, "take").compile()
