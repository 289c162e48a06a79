"""Graphs that the tests run."""

import operator
import time
from typing import Annotated, Any

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt
from typing_extensions import TypedDict


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int
    seen: Annotated[list[str], operator.add]


async def answer(state: State) -> dict[str, Any]:
    print("answering")
    last = state["messages"][-1]
    return {"messages": [AIMessage(f"you said {last.content}")], "count": state.get("count", 0) + 1}


echo = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()


def ask(state: State) -> dict[str, Any]:
    reply = interrupt({"question": "go on?"})
    return {"seen": [repr(reply)]}


approval = StateGraph(State).add_node(ask).add_edge(START, "ask").compile()


def spin(state: State) -> dict[str, Any]:
    while True:
        time.sleep(0.001)


spinning = StateGraph(State).add_node(spin).add_edge(START, "spin").compile()
