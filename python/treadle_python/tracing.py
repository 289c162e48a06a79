"""Tracing by the library itself, as the environment configures it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import threading
from typing import Any

from .json_text import Json

FLUSH_SECONDS = 4.0
SWITCHES = ("LANGSMITH_TRACING", "LANGSMITH_TRACING_V2", "LANGCHAIN_TRACING", "LANGCHAIN_TRACING_V2")
logger = logging.getLogger("treadle")


def callbacks_for(tracing: Json) -> list[Any]:
    """A tracer of the run's own where it names a project or an example; otherwise the library makes its own."""
    project, example = tracing.get("project"), tracing.get("example")
    if not project and not example:
        return []
    try:
        from langchain_core.tracers.langchain import LangChainTracer
    except ImportError:
        return []
    if not _is_on():
        return []

    class ExampleTracer(LangChainTracer):
        """The library takes the example and does not send it."""

        def _start_trace(self, run: Any) -> None:
            if run.parent_run_id is None:
                run.reference_example_id = self.example_id
            super()._start_trace(run)

    return [(ExampleTracer if example else LangChainTracer)(project_name=project, example_id=example)]


def prepare_tracing() -> None:
    """Has the library find out what it says with each trace: it asks git, which takes time. Nothing where it is off."""
    if not any(os.environ.get(name) == "true" for name in SWITCHES) or not _is_on():
        return
    threading.Thread(target=_ask_environment, name="treadle-tracing", daemon=True).start()


def _is_on() -> bool:
    try:
        from langsmith.utils import tracing_is_enabled
    except ImportError:
        return False
    return bool(tracing_is_enabled())


def _ask_environment() -> None:
    """What it finds is kept by the library; whatever fails here fails in the library itself, which tells of it."""
    with contextlib.suppress(Exception):
        from langsmith.env import get_langchain_env_var_metadata, get_runtime_environment

        get_runtime_environment()
        get_langchain_env_var_metadata()


async def flush_traces() -> None:
    """What was traced so far is with the tracing service, or time is up."""
    if "langchain_core.tracers.langchain" not in sys.modules:
        return
    from langchain_core.tracers.langchain import wait_for_all_tracers

    try:
        await asyncio.wait_for(asyncio.to_thread(wait_for_all_tracers), FLUSH_SECONDS)
    except (asyncio.TimeoutError, TimeoutError):
        logger.warning("Some traces had not reached the tracing service after %g s.", FLUSH_SECONDS)
