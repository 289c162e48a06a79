"""Answers what was said, and counts."""

import operator
from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    count: Annotated[int, operator.add]


async def echo(state: State) -> dict:
    return {"messages": [AIMessage(f"You said: {state['messages'][-1].content}")], "count": 1}


graph = StateGraph(State).add_node("echo", echo).add_edge(START, "echo").add_edge("echo", END).compile()
