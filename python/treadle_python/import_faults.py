"""What to tell about code of the project that cannot be imported: where it failed, and what is missing."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import sysconfig
import traceback

from .json_text import Json

_own = os.path.dirname(os.path.abspath(__file__))
_installed = tuple({sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")})


class NotUsable(Exception):
    """The module was imported, but what it exports is not what is needed."""


def describe_fault(error: BaseException, source: str) -> Json:
    """Fields of the failure; `source` is the file or module that was asked for."""
    file, line = _place(error)
    fault: Json = {
        "type": type(error).__name__,
        "message": _message(error),
        "traceback": "".join(traceback.format_exception(error))[-20_000:],
    }
    if file is not None:
        fault["file"] = file
    elif not isinstance(error, NotUsable):
        fault["file"] = source
    if line is not None:
        fault["line"] = line
    if isinstance(error, ModuleNotFoundError) and error.name:
        fault["package"] = error.name.partition(".")[0]
    return fault


def _message(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return (
            f"the module called sys.exit({error.code!r}) while it was imported; put that under "
            "`if __name__ == '__main__':`"
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.partition(".")[0]
        if package not in sys.stdlib_module_names and not _is_installed(package):
            return f"{error}. Add the package that provides {package!r} to the project's dependencies."
    if isinstance(error, KeyboardInterrupt):
        return "the import was interrupted"
    return str(error) or type(error).__name__


def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _place(error: BaseException) -> tuple[str | None, int | None]:
    """The last line of the project's own code on the way to the failure."""
    if isinstance(error, SyntaxError) and error.filename:
        return error.filename, error.lineno
    found: tuple[str | None, int | None] = (None, None)
    for frame, line in traceback.walk_tb(error.__traceback__):
        path = frame.f_code.co_filename
        if path.startswith(("<", _own)) or "site-packages" in path or path.startswith(_installed):
            continue
        found = (path, line)
    return found
