"""An agent with a tool that hands a question to another agent; both have a scripted model that tells what it used."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


class Scripted(BaseChatModel):
    """Says "<voice>: <what it was told last>"; where it has a tool, it asks that first."""

    voice: str
    asks: str | None = None

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        first, *rest = [chunk.message for chunk in self._stream(messages)]
        whole = sum(rest, first)
        told = AIMessage(whole.content, tool_calls=whole.tool_calls, usage_metadata=whole.usage_metadata)
        return ChatResult(generations=[ChatGeneration(message=told)])

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        last = messages[-1]
        if self.asks and last.type == "human":
            given = f'{{"description": "{last.text}", "subagent_type": "researcher"}}'
            called = {"name": self.asks, "args": given, "id": "call-1", "index": 0}
            pieces = [AIMessageChunk("", tool_call_chunks=[called], usage_metadata=usage)]
        else:
            begun = AIMessageChunk(f"{self.voice}: ")
            pieces = [begun, AIMessageChunk(last.text, usage_metadata=usage)]
        for message in pieces:
            piece = ChatGenerationChunk(message=message)
            if run_manager:
                run_manager.on_llm_new_token(message.text, chunk=piece)
            yield piece


async def look_up(state: MessagesState) -> dict:
    """Told to "wait for <file>", it does."""
    said, _, file = state["messages"][-1].text.partition("wait for ")
    while not said and file and not Path(file).exists():
        await asyncio.sleep(0.02)
    get_stream_writer()({"name": "progress", "payload": {"percent": 50}})
    return {"messages": [await Scripted(voice="found").ainvoke(state["messages"])]}


researcher = StateGraph(MessagesState).add_node("look_up", look_up).add_edge(START, "look_up").compile()


@tool
async def task(description: str, subagent_type: str, config: RunnableConfig) -> str:
    """Hands a question to a subagent."""
    named = {**config, "metadata": {**(config.get("metadata") or {}), "lc_agent_name": subagent_type}}
    told = await researcher.ainvoke({"messages": [{"role": "user", "content": description}]}, named)
    return told["messages"][-1].text


async def think(state: MessagesState) -> dict:
    return {"messages": [await Scripted(voice="In short", asks="task").ainvoke(state["messages"])]}


graph = (
    StateGraph(MessagesState)
    .add_node("think", think)
    .add_node("tools", ToolNode([task]))
    .add_edge(START, "think")
    .add_conditional_edges("think", tools_condition)
    .add_edge("tools", "think")
    .compile()
)
