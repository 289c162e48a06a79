"""Imports modules of the project by file or by name."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from .import_faults import NotUsable
from .json_text import Json


def prepare_path(directory: str, dependencies: list[str]) -> None:
    """The project's own folders come first, in their order; those that are there already stay where they are."""
    wanted = [os.path.realpath(path) for path in [*dependencies, directory]]
    known = {os.path.realpath(path) for path in sys.path if path}
    sys.path[:0] = [path for path in dict.fromkeys(wanted) if path not in known]
    importlib.invalidate_caches()


def load_export(reference: Json, directory: str) -> Any:
    """The attribute that `file` or `module` and `exportName` name."""
    module = load_module(reference, directory)
    name = str(reference.get("exportName") or "graph")
    value: Any = module
    for part in name.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            names = [key for key in vars(module) if not key.startswith("_")]
            raise NotUsable(
                f"{source_of(reference)} has no attribute {name!r}. It has: {', '.join(names[:20]) or 'nothing'}."
            ) from None
    return value


def source_of(reference: Json) -> str:
    return str(reference.get("file") or reference.get("module"))


def load_module(reference: Json, directory: str) -> ModuleType:
    file = reference.get("file")
    if not file:
        return importlib.import_module(str(reference["module"]))
    path = os.path.realpath(os.path.join(directory, file))
    if not os.path.isfile(path):
        raise NotUsable(f"There is no file {path}. Check the path in langgraph.json.")
    for module in list(sys.modules.values()):
        origin = getattr(module, "__file__", None)
        if origin and getattr(module, "__name__", "") != "__main__" and os.path.realpath(origin) == path:
            return module
    for name in _names(path):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin and os.path.realpath(spec.origin) == path:
            return importlib.import_module(name)
    return _load_alone(path, directory)


def _names(path: str) -> Iterator[str]:
    """Names by which the module can be imported, the shortest first: relative imports and other importers need one."""
    top = _above_packages(path)
    if top != os.path.dirname(path) and top not in map(os.path.realpath, sys.path):
        sys.path.append(top)
    roots = {os.path.realpath(entry) for entry in sys.path if entry}
    folder = top
    while True:
        if folder in roots:
            parts = os.path.relpath(path, folder).removesuffix(".py").split(os.sep)
            if parts[-1] == "__init__":
                parts.pop()
            if parts and all(part.isidentifier() for part in parts):
                yield ".".join(parts)
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def _above_packages(path: str) -> str:
    """The folder that holds the outermost package of the file, or the file's own folder."""
    folder = os.path.dirname(path)
    while os.path.isfile(os.path.join(folder, "__init__.py")) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    return folder


def _load_alone(path: str, directory: str) -> ModuleType:
    """A file that no path leads to. Its name is always the same: stored values of its classes carry it."""
    folder = os.path.dirname(path)
    if folder not in map(os.path.realpath, sys.path):
        sys.path.append(folder)
    name = os.path.relpath(path, directory).removesuffix(".py").replace(os.sep, ".").lstrip(".")
    if name in sys.modules:
        name = f"{name}_of_the_project"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise NotUsable(f"{path} is no Python file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
