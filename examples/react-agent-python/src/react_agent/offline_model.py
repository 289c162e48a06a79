"""Stands in for a chat model, so that the example runs without a key.

It calls a tool when it sees a sum or a question about the time, and otherwise answers in words. Replace it by a real
model with `.bind_tools(tools)`.
"""

import os
import re

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

NUMBER = r"(-?\d+(?:\.\d+)?)"


async def decide(messages: list[AnyMessage]) -> AIMessage:
    last = messages[-1]
    text = str(last.content)
    if isinstance(last, ToolMessage):
        return AIMessage(f"The answer is {text}.")
    if found := re.search(rf"{NUMBER}\s*([-+*/])\s*{NUMBER}", text):
        left, operator, right = found.groups()
        return call("calculator", {"left": float(left), "operator": operator, "right": float(right)})
    if re.search(r"\btime\b", text, re.IGNORECASE):
        return call("clock", {})
    return AIMessage(f"{os.environ.get('GREETING', 'Hello')}! You said: {text}")


def call(name: str, args: dict) -> AIMessage:
    return AIMessage("", tool_calls=[{"id": f"call_{name}", "name": name, "args": args}])
