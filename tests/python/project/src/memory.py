"""Uses the long-term store, from a node that awaits and from one that does not."""

from typing import TypedDict

from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore


class State(TypedDict, total=False):
    keys: list[str]
    value: dict


async def remember(state: State, *, store: BaseStore) -> dict:
    await store.aput(("notes", "mine"), "a", {"text": "tea"})
    await store.aput(("notes", "mine"), "b", {"text": "bread"}, ttl=10)
    await store.aput(("brief",), "async", {"text": "soon gone"}, ttl=0.01)
    return {}


def recall(state: State, *, store: BaseStore) -> dict:
    store.put(("brief",), "sync", {"text": "soon gone"}, ttl=0.01)
    found = store.search(("notes",), limit=10)
    item = store.get(("notes", "mine"), "a")
    return {"keys": sorted(each.key for each in found), "value": item.value if item else {}}


graph = (
    StateGraph(State)
    .add_node("remember", remember)
    .add_node("recall", recall)
    .add_edge(START, "remember")
    .add_edge("remember", "recall")
    .compile()
)
