"""What a build keeps of graphs is what their server would answer."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import BASIC, GRAPHS
from langgraph.graph import START, MessagesState, StateGraph
from peer_server import PACKAGE, Server

from treadle_python.described import shape_of

START_CHECK = "import sys; sys.path[0] = sys.argv[1]; from treadle_python.check import main; del sys.path[0]; main()"


def _built(tmp_path: Path, names: list[str]) -> Any:
    imports = [{"what": name, "graphId": name, "file": "agent.py", "exportName": name} for name in names]
    asked = {
        "directory": BASIC,
        "dependencies": [BASIC],
        "imports": imports,
        "result": str(tmp_path / "result"),
        "graphs": str(tmp_path / "graphs"),
    }
    command = [sys.executable, "-c", START_CHECK, str(PACKAGE.parent)]
    subprocess.run(command, input=json.dumps(asked), text=True, check=True, cwd=BASIC)
    assert json.loads((tmp_path / "result").read_text()) == {"faults": []}
    return json.loads((tmp_path / "graphs").read_text())


async def test_it_is_what_the_server_would_answer(shared: Server, tmp_path: Path) -> None:
    built = _built(tmp_path, list(GRAPHS))
    assert built["format"] == 1
    reported = {graph["graphId"]: graph for graph in shared.report["graphs"]}
    assert sorted(built["graphs"]) == sorted(name for name in GRAPHS if not reported[name]["isFactory"])
    for name, described in built["graphs"].items():
        assert described["shape"] == reported[name]["shape"]
        asked: dict[str, Any] = {"graphId": name, "config": {}}
        assert json.loads((await shared.request("graph.schemas", asked)).segments[0]) == described["schemas"]
        for kind, xray in (("plain", False), ("xray", True)):
            drawn = await shared.request("graph.draw", {**asked, "xray": xray})
            assert json.loads(drawn.segments[0]) == described["drawings"][kind]


def test_a_graph_with_other_nodes_or_fields_has_another_shape() -> None:
    def made(name: str, *, nested: str = "x", schema: Any = MessagesState) -> str:
        inner = StateGraph(MessagesState).add_node(nested, lambda state: {}).add_edge(START, nested).compile()
        return shape_of(StateGraph(schema).add_node(name, inner).add_edge(START, name).compile())

    class More(MessagesState):
        more: str

    assert made("a") == made("a")
    assert len({made("a"), made("b"), made("a", nested="y"), made("a", schema=More)}) == 4
