"""Imports everything a project's file names, once, for a build. What is missing is found before anything is deployed.

It reads JSON: `directory`, `dependencies`, `imports` (each with `what`, `file` or `module`, `exportName`), and files
to write: `result`, `{"faults": [{"what", "missing", "type", "message", "file"?, "line"?, "package"?, "traceback"}]}`,
where `missing` are faults that no environment of a server mends, and `graphs`, which `described.py` makes for servers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from treadle_python.described import describe_graphs
from treadle_python.graph_factory import GraphEntry
from treadle_python.import_faults import NotUsable, describe_fault
from treadle_python.user_module import load_export, prepare_path, source_of


def check(asked: dict[str, Any]) -> tuple[list[dict[str, Any]], list[GraphEntry]]:
    """A fault for each part that cannot be used, and the graphs that can."""
    directory = str(asked["directory"])
    prepare_path(directory, [str(path) for path in asked["dependencies"]])
    faults: list[dict[str, Any]] = []
    graphs: list[GraphEntry] = []
    process = os.getpid()
    for reference in asked["imports"]:
        # The last line of a build's log says which import does not end.
        print(f"Importing {reference['what']}", flush=True)
        try:
            value = load_export(reference, directory)
            if "graphId" in reference:
                graphs.append(GraphEntry(str(reference["graphId"]), value, source_of(reference)))
        except BaseException as error:
            fault = describe_fault(error, source_of(reference))
            faults.append({"what": reference["what"], "missing": _is_missing(error), **fault})
        if os.getpid() != process:
            # The module forked; the child has nothing to do here.
            os._exit(0)
    return faults, graphs


def _is_missing(error: BaseException) -> bool:
    """Anything else may be for want of a key that only the server has."""
    return isinstance(error, SyntaxError | ImportError | NotUsable)


def main() -> None:
    asked = json.load(sys.stdin)
    faults, graphs = check(asked)
    with open(asked["result"], "x", encoding="utf-8") as file:
        json.dump({"faults": faults}, file)
    with open(asked["graphs"], "xb") as described:
        described.write(describe_graphs(graphs))
    sys.stdout.flush()
    # Threads that an import left behind have no business going on.
    os._exit(0)
