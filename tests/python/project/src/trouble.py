"""What goes wrong in nodes."""

import os
import re
import signal
import sqlite3
import time
from typing import Any, TypedDict

from langgraph.graph import START, StateGraph


class State(TypedDict, total=False):
    kind: str
    value: Any


def trouble(state: State) -> dict:
    match state["kind"]:
        case "raise":
            raise ValueError("the node's own words")
        case "connection":
            return {"value": sqlite3.connect(":memory:")}
        case "loop":
            while True:
                pass
        case "sleep":
            time.sleep(600)
        case "regex":
            re.match(r"(a+)+$", "a" * 40 + "b")
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "large":
            return {"value": "x" * 100_000_000}
    return {"value": state["kind"]}


graph = StateGraph(State).add_node("trouble", trouble).add_edge(START, "trouble").compile()
