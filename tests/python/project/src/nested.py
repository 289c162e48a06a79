"""A graph whose node is a graph."""

from langgraph.graph import START, StateGraph

from .approval import State, ask

inner = StateGraph(State).add_node("ask", ask).add_edge(START, "ask").compile()
graph = StateGraph(State).add_node("inner", inner).add_edge(START, "inner").compile()
