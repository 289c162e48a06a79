import operator
from typing import Annotated

from langgraph.graph import MessagesState


class State(MessagesState):
    """Both graphs have the same state, so the second one goes on where the first stopped on a thread."""

    notes: Annotated[list[str], operator.add]
