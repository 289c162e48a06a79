from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph


class State(MessagesState):
    count: int


async def turn(state: State) -> dict:
    count = state.get("count", 0) + 1
    return {"count": count, "messages": [AIMessage(f"Turn {count}.")]}


graph = StateGraph(State).add_node("turn", turn).add_edge(START, "turn").add_edge("turn", END).compile()
