from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from state import State


async def write(state: State) -> dict:
    text = " ".join(state.get("notes", [])) or "There is nothing to write about yet."
    return {"messages": [AIMessage(text)]}


graph = StateGraph(State).add_node("write", write).add_edge(START, "write").add_edge("write", END).compile()
