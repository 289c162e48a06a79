from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from state import State


async def collect(state: State) -> dict:
    topic = str(state["messages"][-1].content)
    notes = [f"{topic} has {len(topic)} letters.", f"{topic} backwards is {topic[::-1]}."]
    return {"notes": notes, "messages": [AIMessage(f"I have {len(notes)} notes on {topic}.")]}


graph = StateGraph(State).add_node("collect", collect).add_edge(START, "collect").add_edge("collect", END).compile()
