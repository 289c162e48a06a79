from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    a: int


graph = StateGraph(State).add_node("n", lambda state: {"a": 1}).add_edge(START, "n").compile()
