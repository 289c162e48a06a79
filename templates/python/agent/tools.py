from langchain_core.tools import tool


@tool
def weather(city: str) -> str:
    """The weather in a city."""
    return f"It is 21 degrees and sunny in {city}."


tools = [weather]
