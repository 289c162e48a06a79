from typing import Literal

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from react_agent.offline_model import decide
from react_agent.tools import tools


async def agent(state: MessagesState) -> dict:
    return {"messages": [await decide(state["messages"])]}


def next_step(state: MessagesState) -> Literal["tools", "__end__"]:
    return "tools" if state["messages"][-1].tool_calls else END


# Reason, act, look at the result, and again.
graph = (
    StateGraph(MessagesState)
    .add_node("agent", agent)
    .add_node("tools", ToolNode(tools))
    .add_edge(START, "agent")
    .add_conditional_edges("agent", next_step)
    .add_edge("tools", "agent")
    .compile()
)
