"""Asks before it goes on."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.types import interrupt


class State(TypedDict, total=False):
    subject: str
    answer: object


def ask(state: State) -> dict:
    return {"answer": interrupt({"question": f"May I {state['subject']}?"})}


graph = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
