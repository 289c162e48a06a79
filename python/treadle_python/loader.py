"""Loads what the project's file names. One part that fails does not keep the others from serving."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import platform
import time
from typing import Any

from .asgi import AsgiApp
from .auth import ProjectAuth
from .carried import is_repeatable
from .described import shape_of
from .embeddings import Embedder
from .graph_factory import GraphEntry
from .import_faults import describe_fault
from .json_text import Json
from .loopback import install_loopback
from .peer import Peer
from .user_module import load_export, prepare_path, source_of

SLOW_IMPORT_SECONDS = 10.0
_libraries = ("langgraph", "langgraph-checkpoint", "langchain-core", "langgraph-sdk", "langsmith", "langchain")


class Project:
    """The loaded parts."""

    def __init__(self) -> None:
        self.graphs: dict[str, GraphEntry] = {}
        self.auth: ProjectAuth | None = None
        self.app: AsgiApp | None = None
        self.embedder: Embedder | None = None

    def graph(self, graph_id: str) -> GraphEntry:
        entry = self.graphs.get(graph_id)
        if entry is None:
            raise LookupError(f"graph {graph_id!r} is not loaded in this worker")
        return entry


async def load_project(peer: Peer, asked: Json) -> tuple[Project, Json]:
    """The project and what the server is told of it."""
    directory = str(asked["directory"])
    prepare_path(directory, [str(path) for path in asked.get("dependencies", ())])
    project = Project()
    report: Json = {"python": platform.python_version()}
    install_loopback(peer)
    graphs: list[Json] = []
    for reference in asked.get("graphs", ()):
        graph_id = str(reference["graphId"])
        made, fault = await _load(reference, directory, lambda value, r=reference: _entry(r, value))
        if made is not None:
            project.graphs[graph_id] = made
            told: Json = {"graphId": graph_id, "isFactory": made.is_factory, "shape": None, "isRepeatable": False}
            if made.fixed is not None:
                told |= {"shape": shape_of(made.fixed), "isRepeatable": is_repeatable(made.fixed)}
            graphs.append(told)
        else:
            graphs.append({"graphId": graph_id, "error": fault})
    report["graphs"] = graphs
    if asked.get("auth"):
        project.auth, fault = await _load(asked["auth"], directory, ProjectAuth)
        report["auth"] = project.auth.describe() if project.auth else {"error": fault}
    if asked.get("app"):
        project.app, fault = await _load(asked["app"], directory, AsgiApp)
        if project.app is not None:
            fault = await _start(project.app, asked["app"])
        report["app"] = project.app.describe() if project.app and not fault else {"error": fault}
    if asked.get("embed"):
        project.embedder, fault = await _load(asked["embed"], directory, Embedder)
        report["embed"] = {} if project.embedder else {"error": fault}
    report["versions"] = _versions()
    return project, report


def _entry(reference: Json, value: Any) -> GraphEntry:
    return GraphEntry(str(reference["graphId"]), value, source_of(reference))


async def _load(reference: Json, directory: str, make: Any) -> tuple[Any, Json]:
    """In a thread: an import may take long, and often runs an event loop of its own."""
    loop = asyncio.get_running_loop()
    process = os.getpid()

    def work() -> tuple[Any, Json]:
        try:
            return make(load_export(reference, directory)), {}
        except BaseException as error:
            return None, describe_fault(error, source_of(reference))
        finally:
            if os.getpid() != process:
                # The module forked; the child has nothing to do here.
                os._exit(0)

    began = time.monotonic()
    result = await loop.run_in_executor(None, work)
    took = time.monotonic() - began
    if took > SLOW_IMPORT_SECONDS:
        print(f"Importing {source_of(reference)} took {took:.0f} s; every start of a worker waits for that.")
    return result


async def _start(app: AsgiApp, reference: Json) -> Json:
    try:
        await app.start()
    except Exception as error:
        return describe_fault(error, source_of(reference))
    return {}


def _versions() -> Json:
    found: Json = {}
    for name in _libraries:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
