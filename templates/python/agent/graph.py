from typing import Literal

from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from agent.model import answer
from agent.tools import tools


async def agent(state: MessagesState) -> dict:
    return {"messages": [await answer(state["messages"])]}


def next_step(state: MessagesState) -> Literal["tools", "__end__"]:
    return "tools" if state["messages"][-1].tool_calls else END


# Answer, or use a tool and look at its result, and again.
graph = (
    StateGraph(MessagesState)
    .add_node("agent", agent)
    .add_node("tools", ToolNode(tools))
    .add_edge(START, "agent")
    .add_conditional_edges("agent", next_step)
    .add_edge("tools", "agent")
    .compile()
)
