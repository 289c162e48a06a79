"""Keeps a value that only Python has, and tells what it found."""

from datetime import date
from typing import TypedDict

from langgraph.graph import START, StateGraph
from pydantic import BaseModel


class Profile(BaseModel):
    name: str
    born: date
    tags: set[str] = set()


class State(TypedDict, total=False):
    profile: Profile
    found: list[str]
    turns: int


async def keep(state: State) -> dict:
    known = state.get("profile")
    if known is None:
        return {"profile": Profile(name="Ada", born=date(1815, 12, 10), tags={"x"}), "found": []}
    return {"found": [type(known).__name__, type(known.born).__name__, type(known.tags).__name__, known.name]}


graph = StateGraph(State).add_node("keep", keep).add_edge(START, "keep").compile()
