from datetime import UTC, datetime
from typing import Literal

from langchain_core.tools import tool


@tool
def calculator(left: float, operator: Literal["+", "-", "*", "/"], right: float) -> str:
    """Works out one operation on two numbers."""
    if operator == "/" and right == 0:
        return "Division by zero."
    value = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[operator]()
    return f"{value:g}"


@tool
def clock() -> str:
    """Tells the time."""
    return datetime.now(UTC).isoformat()


tools = [calculator, clock]
