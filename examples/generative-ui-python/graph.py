import uuid
from collections.abc import Sequence
from typing import Annotated

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.ui import AnyUIMessage, push_ui_message, ui_message_reducer


class State(MessagesState):
    ui: Annotated[Sequence[AnyUIMessage], ui_message_reducer]


def degrees_in(city: str) -> int:
    """Made up from the name, so that the example needs no key and always says the same."""
    return sum(map(ord, city)) % 30


async def look(state: State) -> dict:
    city = str(state["messages"][-1].content).strip() or "Oslo"
    message = AIMessage(f"This is the weather in {city}.", id=str(uuid.uuid4()))
    # Streamed at once as a custom event, and kept under "ui" in the state; shown beside the message.
    push_ui_message("weather", {"city": city, "degrees": degrees_in(city)}, message=message)
    return {"messages": [message]}


graph = StateGraph(State).add_node("look", look).add_edge(START, "look").add_edge("look", END).compile()
