"""A graph as its module exports it: compiled, not yet compiled, or made anew by a function for each use."""

from __future__ import annotations

import inspect
import typing
from collections.abc import AsyncIterator, Callable
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .contexts import coerce_context
from .import_faults import NotUsable
from .json_text import Json

if TYPE_CHECKING:
    from langgraph.pregel import Pregel

Graph = "Pregel[Any, Any, Any, Any]"


@dataclass(frozen=True)
class Opening:
    """Why a graph is needed, and with what."""

    config: Json
    access: str
    context: Any = None
    store: Any = None


class GraphEntry:
    """One graph of the project."""

    def __init__(self, graph_id: str, value: Any, source: str) -> None:
        self.graph_id = graph_id
        self.source = source
        self._fixed = compiled_graph(value)
        self._factory: Callable[..., Any] | None = None
        if self._fixed is None:
            if not callable(value):
                raise NotUsable(f"{source} exports {describe(value)}. Export a graph, or a function that returns one.")
            self._factory = _as_factory(value)
            self._parameters = _parameters(value)

    @property
    def is_factory(self) -> bool:
        return self._factory is not None

    @property
    def fixed(self) -> Pregel[Any, Any, Any, Any] | None:
        """The graph itself, where it is the same for every use."""
        return self._fixed

    @asynccontextmanager
    async def open(self, opening: Opening) -> AsyncIterator[Pregel[Any, Any, Any, Any]]:
        """The graph; what its factory opened is closed afterwards, also when the run fails or is cancelled."""
        if self._fixed is not None:
            yield self._fixed
            return
        assert self._factory is not None
        async with AsyncExitStack() as stack:
            made = self._factory(**_arguments(self._parameters, opening))
            if inspect.isawaitable(made):
                made = await made
            if isinstance(made, AbstractAsyncContextManager) and compiled_graph(made) is None:
                made = await stack.enter_async_context(made)
            elif isinstance(made, AbstractContextManager) and compiled_graph(made) is None:
                made = stack.enter_context(made)
            graph = compiled_graph(made)
            if graph is None:
                raise NotUsable(
                    f"The function that makes graph {self.graph_id!r} ({self.source}) returned {describe(made)} "
                    "instead of a graph."
                )
            yield graph


def compiled_graph(value: Any) -> Pregel[Any, Any, Any, Any] | None:
    """The compiled graph of what people export; None when there is none in it."""
    from langgraph.pregel import Pregel

    if isinstance(value, Pregel):
        return value
    if not inspect.isclass(value) and hasattr(value, "compile") and hasattr(value, "nodes"):
        compiled = value.compile()
        return compiled if isinstance(compiled, Pregel) else None
    inner = getattr(value, "graph", None)
    return inner if isinstance(inner, Pregel) else None


def describe(value: Any) -> str:
    return "None" if value is None else f"an object of class {type(value).__name__}"


def _as_factory(value: Callable[..., Any]) -> Callable[..., Any]:
    if inspect.isasyncgenfunction(value):
        return asynccontextmanager(value)
    if inspect.isgeneratorfunction(value):
        return contextmanager(value)
    return value


@dataclass(frozen=True)
class _Parameter:
    name: str
    takes: str
    """`config` or `runtime`."""
    annotation: Any


def _parameters(factory: Callable[..., Any]) -> list[_Parameter]:
    """Which parameter takes what: by annotation, then by name, then by place."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):
        return []
    try:
        hints = typing.get_type_hints(factory)
    except Exception:
        hints = {}
    found: list[_Parameter] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        annotation = hints.get(name, parameter.annotation)
        takes = _takes(name, annotation)
        if takes is None:
            if parameter.default is not parameter.empty:
                continue
            takes = "config" if not any(one.takes == "config" for one in found) else "runtime"
        found.append(_Parameter(name, takes, annotation))
    return found


def _takes(name: str, annotation: Any) -> str | None:
    shown = annotation if isinstance(annotation, str) else f"{annotation!r}"
    if "Runtime" in shown:
        return "runtime"
    if "RunnableConfig" in shown or annotation is dict:
        return "config"
    return name if name in ("config", "runtime") else None


def _arguments(parameters: list[_Parameter], opening: Opening) -> Json:
    config = {"configurable": {}, **opening.config}
    return {one.name: config if one.takes == "config" else make_runtime(opening, one.annotation) for one in parameters}


@dataclass(frozen=True)
class FactoryRuntime:
    """For versions of the SDK that have no `ServerRuntime` of their own."""

    access_context: str
    user: Any = None
    store: Any = None
    context: Any = field(default=None)

    @property
    def execution_runtime(self) -> FactoryRuntime | None:
        return self if self.access_context == "threads.create_run" else None

    def ensure_user(self) -> Any:
        if self.user is None:
            raise PermissionError("No user: the project has no custom authentication.")
        return self.user


def make_runtime(opening: Opening, annotation: Any) -> Any:
    """What a factory reads as its `ServerRuntime`."""
    user = opening.config.get("configurable", {}).get("langgraph_auth_user")
    common = {"access_context": opening.access, "user": user, "store": opening.store}
    is_run = opening.access == "threads.create_run"
    wanted = typing.get_args(annotation)
    context = coerce_context(wanted[0], opening.context) if wanted else opening.context
    try:
        from langgraph_sdk import runtime as sdk
    except ImportError:
        return FactoryRuntime(**common, context=context if is_run else None)
    if is_run:
        return sdk._ExecutionRuntime(**common, context=context)
    return sdk._ReadRuntime(**common)
