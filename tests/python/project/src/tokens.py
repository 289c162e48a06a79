"""A chat model that speaks word by word, and everything else a node can stream."""

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph


async def speak(state: MessagesState) -> dict:
    get_stream_writer()({"progress": 0.5})
    model = GenericFakeChatModel(messages=iter([AIMessage("one two three", id="spoken")]))
    return {"messages": [await model.ainvoke(state["messages"])]}


graph = StateGraph(MessagesState).add_node("speak", speak).add_edge(START, "speak").compile()
