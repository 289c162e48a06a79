"""Projects that cannot be loaded whole, and workers in trouble."""

from __future__ import annotations

import asyncio
import os
import re
import signal

import pytest
from conftest import PROJECTS
from peer_server import Server

from treadle_python.blocked_loop import Finding, advice
from treadle_python.frames import Kind

BROKEN = str(PROJECTS / "broken")


async def test_a_graph_that_fails_to_load_does_not_keep_the_others_from_serving(server: Server) -> None:
    names = ["missing", "syntax", "leaving", "number", "good", "policy", "forking"]
    places = {name: f"{name}.py:graph" for name in names}
    more = {"inner": "pkg/inner.py:graph", "nowhere": "nowhere.py:graph", "nothing": "good.py:nothing"}
    report = await server.load(BROKEN, {**places, **more})
    graphs = {one["graphId"]: one for one in report["graphs"]}
    loaded = [name for name, one in graphs.items() if "error" not in one]
    assert sorted(loaded) == ["forking", "good", "inner", "policy"]
    missing = graphs["missing"]["error"]
    assert missing["type"] == "ModuleNotFoundError" and missing["package"] == "a_package_that_nobody_has"
    assert missing["file"].endswith("missing.py") and missing["line"] == 3
    assert "dependencies" in missing["message"]
    syntax = graphs["syntax"]["error"]
    assert syntax["type"] == "SyntaxError" and syntax["file"].endswith("syntax.py") and syntax["line"] in (2, 3)
    leaving = graphs["leaving"]["error"]
    assert leaving["type"] == "SystemExit" and "sys.exit(3)" in leaving["message"] and leaving["line"] == 4
    assert "exports an object of class int" in graphs["number"]["error"]["message"]
    assert "There is no file" in graphs["nowhere"]["error"]["message"]
    assert "has no attribute 'nothing'" in graphs["nothing"]["error"]["message"]
    for name in loaded:
        assert (await server.run(name, f"thread-{name}", input={}))[-1][1] == {"a": 1}


async def test_an_import_may_print_and_take_longer_than_a_node_may_stand_still(server: Server) -> None:
    report = await server.load(BROKEN, {"slow": "slow.py:graph"}, stallMs=1000)
    assert "error" not in report["graphs"][0], report
    assert (await server.run("slow", "after-it", input={}))[-1][1] == {"a": 1}
    words = [f"{how} while it was imported" for how in ("printed", "written", "logged")]
    async with asyncio.timeout(20):
        while not all(
            one in " ".join(line["message"] for line in server.logs) + server.output.decode() for one in words
        ):
            await asyncio.sleep(0.01)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="looks at /proc")
async def test_a_node_at_the_limit_of_memory_fails_alone(server: Server) -> None:
    await server.load(BROKEN, {"greedy": "greedy.py:graph"})
    with pytest.raises(Exception, match="MemoryError"):
        await server.run("greedy", "too-much", input={"wants": 2_000_000_000})
    assert (await server.run("greedy", "enough", input={"wants": 1000}))[-1][1] == {"wants": 1000, "got": 1000}


async def test_idle_there_is_nothing_to_beat(shared: Server) -> None:
    assert await shared.control({"ping": 7}) == {"pong": 7, "loop": 0, "calls": 0}


async def test_a_dump_names_the_line_of_a_thread(shared: Server) -> None:
    call = shared.start_run("spinning", "dumped", input={"messages": []})
    await anext(shared.items_of(call))
    while "in spin" not in (stack := (await shared.control({"dump": 1}))["stack"]):
        await asyncio.sleep(0.01)
    assert f"(call {call})" in stack
    shared.send(Kind.CANCEL, call)
    while not (await shared.control({"interrupt": call}))["found"]:
        await asyncio.sleep(0.01)


async def test_a_blocked_loop_is_seen_and_named(server: Server) -> None:
    await server.load(BROKEN, {"blocking": "blocking.py:graph"})
    call = server.start_run("blocking", input={"seconds": 4.0})
    worst = 0
    while worst < 1500:
        worst = max(worst, (await server.control({"ping": 1}))["loop"])
        await asyncio.sleep(0.05)
    [item async for item in server.items_of(call)]
    warnings = [line["message"] for line in server.logs if line["level"] == "warn"]
    assert any(re.search(r"blocked for more than 1 s at .*blocking\.py:\d+", text) for text in warnings)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="looks at /proc")
async def test_a_loop_that_is_not_given_a_processor_does_not_blame_the_graph(server: Server) -> None:
    """A process that is stopped is as behind as one on a machine with too much to do."""
    await server.load(BROKEN, {"blocking": "blocking.py:graph", "stepping": "blocking.py:stepping"})
    call = server.start_run("stepping", input={"seconds": 4.0})
    await anext(server.items_of(call))
    server.process.send_signal(signal.SIGSTOP)
    await asyncio.sleep(3)
    server.process.send_signal(signal.SIGCONT)
    [item async for item in server.items_of(call)]
    warnings = [line["message"] for line in server.logs if line["level"] == "warn"]
    assert not [text for text in warnings if "blocked" in text]


def test_the_graph_is_blamed_for_what_it_was_seen_to_do() -> None:
    def told(place: str | None, used: float, is_ready: bool) -> str:
        return advice(Finding(place, used, is_ready), 1.0, 7)

    assert "blocked for more than 1 s at agent.py:3" in told("agent.py:3", 1.0, True)
    assert "blocked for more than 1 s at agent.py:3" in told("agent.py:3", 0.0, False)
    assert "this machine has more to do" in told("agent.py:3", 0.2, True)
    assert "7 calls under way and 98% of a processor" in told(None, 0.98, True)
    assert all("blocked for" not in told(None, used, ready) for used in (0.0, 1.0) for ready in (True, False))


async def test_a_held_interpreter_ends_and_names_the_line(server: Server) -> None:
    await server.load(BROKEN, {"holding": "blocking.py:holding"}, stallMs=1500)
    server.start_run("holding", input={})
    await asyncio.wait_for(server.process.wait(), 30)
    assert server.process.returncode == 1
    while b"blocking.py" not in server.output:
        await asyncio.sleep(0.01)
    assert b"in hold" in server.output and b"blocking.py" in server.output


async def test_drain_waits_ends_the_lifespan_and_exits(server: Server) -> None:
    basic = str(PROJECTS / "basic")
    await server.load(basic, {"echo": "agent.py:echo"}, app={"file": "app.py", "exportName": "app"})
    await server.request("drain", {})
    assert await asyncio.wait_for(server.process.wait(), 10) == 0
    messages = [line["message"] for line in server.logs]
    assert "lifespan begins" in messages and "lifespan ends" in messages


async def test_the_end_of_the_server_is_the_end_of_the_worker(server: Server) -> None:
    await server.load(BROKEN, {"good": "good.py:graph"})
    await server.stop()
    assert server.process.returncode == 0


async def test_nonsense_ends_the_worker(server: Server) -> None:
    server.send(Kind.ITEM, 77, {})
    assert await asyncio.wait_for(server.process.wait(), 10) == 70


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="looks at /proc")
async def test_nothing_of_ours_is_on_the_path_of_the_project(server: Server) -> None:
    report = await server.load(BROKEN, {"path": "path_look.py:graph"})
    assert "error" not in report["graphs"][0], report
    await server.run("path", input={})
    looked = next(line["message"] for line in server.logs if line["message"].startswith("path: "))
    assert "treadle_python" not in looked
