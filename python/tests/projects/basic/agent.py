"""Graphs that the tests run."""

import asyncio
import contextlib
import operator
import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated, Any

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.types import Send, interrupt
from langgraph_sdk import get_client
from pydantic import BaseModel
from typing_extensions import TypedDict

try:
    from langgraph_sdk.runtime import ServerRuntime
except ImportError:  # Older versions; the parameter is known by its name.
    ServerRuntime = Any

events: list[str] = []
"""What factories did."""


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int
    seen: Annotated[list[str], operator.add]


async def answer(state: State) -> dict[str, Any]:
    print("answering")
    last = state["messages"][-1]
    return {"messages": [AIMessage(f"you said {last.content}")], "count": state.get("count", 0) + 1}


echo = StateGraph(State).add_node(answer).add_edge(START, "answer").add_edge("answer", END).compile()
plain_builder = StateGraph(State).add_node(answer).add_edge(START, "answer")


def ask(state: State) -> dict[str, Any]:
    reply = interrupt({"question": "go on?"})
    return {"seen": [repr(reply)]}


approval = StateGraph(State).add_node(ask).add_edge(START, "ask").compile()


def ask_twice(state: State) -> dict[str, Any]:
    return {"seen": [f"{interrupt('Go?')}, {interrupt('Really?')}"]}


asking_twice = StateGraph(State).add_node(ask_twice).add_edge(START, "ask_twice").compile()

pausing = StateGraph(State).add_node("last", lambda state: {"seen": ["last"]}).add_edge(START, "last")
pausing_inside = {"inside": pausing.compile(interrupt_before=["last"])}


async def call_pausing(state: State) -> dict[str, Any]:
    """Looked up, so that nobody can tell beforehand that a graph is called here."""
    return {"seen": (await pausing_inside["inside"].ainvoke({"seen": []}))["seen"]}


calling_pausing = StateGraph(State).add_node(call_pausing).add_edge(START, "call_pausing").compile()
paused = pausing.compile(interrupt_before=["last"])


def spin(state: State) -> dict[str, Any]:
    while True:
        time.sleep(0.001)


spinning = StateGraph(State).add_node(spin).add_edge(START, "spin").compile()


async def wait(state: State) -> dict[str, Any]:
    await asyncio.sleep(600)
    return {}


waiting = StateGraph(State).add_node(wait).add_edge(START, "wait").compile()


async def talk(state: State) -> dict[str, Any]:
    model = GenericFakeChatModel(messages=iter([AIMessage("one two three", id="m1")]))
    get_stream_writer()({"progress": 1})
    return {"messages": [await model.ainvoke(state["messages"])]}


talking = StateGraph(State).add_node(talk).add_edge(START, "talk").compile()

said = asyncio.Event()


class HaltingModel(GenericFakeChatModel):
    """Says its second word when somebody has taken its first one."""

    tells_tokens: bool = False

    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for word in ("one ", "two"):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word))
            if run_manager and self.tells_tokens:
                await run_manager.on_llm_new_token(word, chunk=chunk)
            yield chunk
            if word == "one ":
                await asyncio.wait_for(said.wait(), 60)
        if not self.tells_tokens:
            call = {"name": "look", "args": '{"at": 1}', "id": "c1", "index": 1, "type": "tool_call_chunk"}
            yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_call_chunks=[call]))


async def speak_blocks(state: State) -> dict[str, Any]:
    said.clear()
    model = HaltingModel(messages=iter([]), tells_tokens=bool(state.get("count")))
    stream = await model.astream_events(state["messages"], version="v3")
    async for event in stream:
        if event["event"] == "content-block-delta":
            get_stream_writer()("a word")
    return {"messages": [await stream.output]}


async def hear(state: State) -> dict[str, Any]:
    said.set()
    return {}


speaking_blocks = StateGraph(State).add_node(speak_blocks).add_edge(START, "speak_blocks").compile()
hearing = StateGraph(State).add_node(hear).add_edge(START, "hear").compile()

inner = StateGraph(State).add_node(ask).add_edge(START, "ask").compile()
nested = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()


def fan(state: State) -> list[Send]:
    return [Send("one", {"seen": [str(number)]}) for number in range(3)]


def one(state: State) -> dict[str, Any]:
    return {"seen": [f"got {state['seen'][0]}"]}


fanning = StateGraph(State).add_node(one).add_conditional_edges(START, fan, ["one"]).compile()


def fail(state: State) -> dict[str, Any]:
    raise ValueError("no good")


failing = (
    StateGraph(State).add_node(answer).add_node(fail).add_edge(START, "answer").add_edge("answer", "fail").compile()
)


async def remember(state: State, store: BaseStore) -> dict[str, Any]:
    await store.aput(("notes", "ann"), "a", {"text": "tea"}, ttl=5)
    found = await store.aget(("notes", "ann"), "a")
    return {"seen": [found.value["text"] if found else "nothing"]}


def recall(state: State, runtime: Runtime[Any]) -> dict[str, Any]:
    assert runtime.store is not None
    found = runtime.store.search(("notes",))
    spaces = runtime.store.list_namespaces()
    runtime.store.delete(("notes", "ann"), "a")
    return {"seen": [f"{len(found)} of {spaces}"]}


remembering = (
    StateGraph(State)
    .add_node(remember)
    .add_node(recall)
    .add_edge(START, "remember")
    .add_edge("remember", "recall")
    .compile()
)


@contextlib.asynccontextmanager
async def made(config: RunnableConfig, runtime: ServerRuntime) -> AsyncIterator[Any]:
    name = config["configurable"].get("name", "nobody")
    events.append(f"open {name} for {runtime.access_context}")
    print(events[-1])

    async def greet(state: State) -> dict[str, Any]:
        if name == "sleeper":
            await asyncio.sleep(600)
        return {"seen": [f"hello {name}"]}

    try:
        yield StateGraph(State).add_node(greet).add_edge(START, "greet")
    finally:
        events.append(f"close {name}")
        print(events[-1])


@dataclass
class Settings:
    model: str = "small"


async def use(state: State, runtime: Runtime[Settings]) -> dict[str, Any]:
    return {"seen": [runtime.context.model]}


typed = StateGraph(State, context_schema=Settings).add_node(use).add_edge(START, "use").compile()


class Held(TypedDict, total=False):
    connection: Any


def hold(state: Held) -> dict[str, Any]:
    return {"connection": sqlite3.connect(":memory:", check_same_thread=False)}


unstorable = StateGraph(Held).add_node(hold).add_edge(START, "hold").compile()


class Text(TypedDict, total=False):
    text: str
    size: int


def grow(state: Text) -> dict[str, Any]:
    return {"text": "x" * state.get("size", 1000)}


large = StateGraph(Text).add_node(grow).add_edge(START, "grow").compile()


async def call_server(state: State) -> dict[str, Any]:
    client = get_client()
    seen = [part.data["n"] async for part in client.runs.stream(None, "other", input={})]
    return {"seen": [str(seen)]}


calling = StateGraph(State).add_node(call_server).add_edge(START, "call_server").compile()


@tool
def add(a: int) -> int:
    """Adds one."""
    return a + 1


def decide(state: State) -> dict[str, Any]:
    return {"messages": [AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "c1"}])]}


using_tools = (
    StateGraph(State)
    .add_node(decide)
    .add_node("tools", ToolNode([add]))
    .add_edge(START, "decide")
    .add_edge("decide", "tools")
    .compile()
)


class Checked(BaseModel):
    """A state that is made an object for each node, so the library looks into its values."""

    messages: Annotated[list[AnyMessage], add_messages] = []
    count: int = 0


def check(state: Checked) -> dict[str, Any]:
    return {"messages": [AIMessage(f"checked {len(state.messages)}")], "count": state.count + 1}


checked = StateGraph(Checked).add_node(check).add_edge(START, "check").compile()


def half(state: State) -> dict[str, Any]:
    return {"seen": ["half"]}


side = StateGraph(State).add_node(ask).add_node(half).add_edge(START, "ask").add_edge(START, "half").compile()
"""A task is done beside one that waits."""
