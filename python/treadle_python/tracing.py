"""Tracing by the library itself, as the environment configures it."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

from .json_text import Json

FLUSH_SECONDS = 5.0
logger = logging.getLogger("treadle")


def callbacks_for(tracing: Json) -> list[Any]:
    """A tracer of the run's own where it names a project or an example; otherwise the library makes its own."""
    project, example = tracing.get("project"), tracing.get("example")
    if not project and not example:
        return []
    try:
        from langchain_core.tracers.langchain import LangChainTracer
        from langsmith.utils import tracing_is_enabled
    except ImportError:
        return []
    if not tracing_is_enabled():
        return []
    return [LangChainTracer(project_name=project, example_id=example)]


async def flush_traces() -> None:
    """What was traced so far is with the tracing service, or time is up."""
    if "langchain_core.tracers.langchain" not in sys.modules:
        return
    from langchain_core.tracers.langchain import wait_for_all_tracers

    try:
        await asyncio.wait_for(asyncio.to_thread(wait_for_all_tracers), FLUSH_SECONDS)
    except (asyncio.TimeoutError, TimeoutError):
        logger.warning("Some traces had not reached the tracing service after %g s.", FLUSH_SECONDS)
